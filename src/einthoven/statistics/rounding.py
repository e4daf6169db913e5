"""What floating point adds to numbers that are equal in rational numbers."""

from __future__ import annotations

# Metrics, their differences and means are at most of size 1 or so, and come out within about 1e-16 of each other where
# they are equal; what differs at all differs by one over a number of pairs of records, which is far above this.
ROUNDING = 1e-12
