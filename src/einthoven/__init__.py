"""Einthoven: a benchmark for ECG models."""

from .version import VERSION as __version__

__all__ = ["__version__"]
