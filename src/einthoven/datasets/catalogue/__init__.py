"""One module a dataset; each defines `DATASET` and imports heavy libraries inside its functions."""
