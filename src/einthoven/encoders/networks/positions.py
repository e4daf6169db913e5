"""Fixed sine and cosine tables that tell a transformer where a token lies."""

from __future__ import annotations

import numpy as np


def sine_cosine(positions: np.ndarray, width: int) -> np.ndarray:
    """Sines, then cosines, of positions at `width` / 2 frequencies from 1 to near 1 / 10000 (Vaswani et al., 2017).

    Args:
        positions: (count,).
        width: numbers a position, even.

    Returns:
        float64 (count, width).
    """
    frequencies = 1 / 10000 ** (np.arange(width // 2) / (width / 2))
    angles = np.outer(positions, frequencies)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def sine_cosine_of_leads(leads: int, steps: int, width: int) -> np.ndarray:
    """One row for each lead and time step, lead by lead: the time step in its first half, the lead in its second.

    Returns:
        float64 (leads * steps, width).
    """
    lead, step = np.divmod(np.arange(leads * steps), steps)
    return np.concatenate([sine_cosine(step, width // 2), sine_cosine(lead, width // 2)], axis=1)
