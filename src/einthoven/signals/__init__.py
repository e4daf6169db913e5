"""Arrays in, arrays out: leads, units, resampling, filters, normalisation, cropping, quality.

A signal is float32 mV of shape (..., leads, samples). No function changes its input, and what a record becomes never
depends on the other records of its batch.
"""
