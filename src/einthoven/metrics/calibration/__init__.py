"""How well probabilities are calibrated: reliability, calibration errors, Brier scores; convention in every name."""
