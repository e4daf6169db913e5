"""The phantom: a synthetic 12-lead cohort whose truth is known, because it was planted."""
