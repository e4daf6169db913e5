"""One module for each released encoder; each defines `ENCODER`."""
