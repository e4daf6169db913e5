"""A table of one's own, one row an ECG, and its signal files: read as any registered dataset is."""
