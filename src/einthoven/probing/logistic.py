"""One L2 logistic probe a label, its setting chosen on validation log-loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from einthoven.foundation.errors import DataError
from einthoven.metrics.log_loss import log_loss

from .grid import ProbeGrid, ProbeSetting

# lbfgs stops on the largest gradient element; scikit-learn's default 1e-4 leaves AUROC of rare labels off in the fourth
# decimal, 1e-6 in float64 does not.
_TOLERANCE = 1e-6
_MAX_ITERATIONS = 10_000


@dataclass(frozen=True)
class Probes:
    """Fitted probes of all labels of one task, as affine maps of the raw embedding.

    Attributes:
        settings: the grid, in the order of `validation_loss`'s second axis.
        chosen: int (labels,), index of the chosen setting; -1 where undefined.
        weights: float64 (labels, dim); NaN where undefined. Standardisation is folded in.
        intercepts: float64 (labels,); NaN where undefined.
        validation_loss: float64 (labels, settings), mean log-loss on the validation split.
        converged: bool (labels, settings).
        reasons: why a label is undefined, or None.
    """

    settings: tuple[ProbeSetting, ...]
    chosen: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray
    validation_loss: np.ndarray
    converged: np.ndarray
    reasons: tuple[str | None, ...]

    def logits(self, embeddings: np.ndarray) -> np.ndarray:
        """float32 (records, labels) log-odds; NaN columns for undefined labels."""
        return (np.asarray(embeddings, dtype=np.float64) @ self.weights.T + self.intercepts).astype(np.float32)


def fit_probes(
    train: tuple[np.ndarray, np.ndarray],
    val: tuple[np.ndarray, np.ndarray],
    *,
    grid: ProbeGrid | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Probes:
    """Fit every setting of the grid on the training split and keep, label by label, the best on validation.

    The loss is compared strictly, so of equal settings the first of the grid wins. A label with no positive or no
    negative training record has no probe: it is undefined, with the reason, and not a constant that would score 0.5.

    Args:
        train: embeddings (records, dim) and targets 0/1 (records, labels).
        val: the same for the validation split.
        grid: settings to try; default the grid of 16.
        progress: called with (labels done, labels in all).

    Raises:
        DataError: empty splits, shapes that do not agree, or embeddings that are not finite.

    Source: Berger et al. 2026 (arXiv 2602.17531), section 5.3.
    """
    settings = tuple(grid or ProbeGrid())
    x_train, y_train = _checked(*train, split="train")
    x_val, y_val = _checked(*val, split="validation")
    if x_train.shape[1] != x_val.shape[1] or y_train.shape[1] != y_val.shape[1]:
        raise DataError(
            f"Training embeddings and targets are {x_train.shape} and {y_train.shape}, validation's are "
            f"{x_val.shape} and {y_val.shape}; dimensions and labels must agree."
        )
    labels, dim = y_train.shape[1], x_train.shape[1]
    mean, sd = x_train.mean(axis=0), x_train.std(axis=0)
    # A constant column cannot help; dividing it by one keeps it constant.
    sd = np.where(sd > np.finfo(np.float64).eps * np.maximum(1.0, np.abs(mean)), sd, 1.0)
    scaled = (x_train - mean) / sd if any(s.scale for s in settings) else x_train

    loss = np.full((labels, len(settings)), np.nan)
    converged = np.zeros((labels, len(settings)), dtype=bool)
    chosen = np.full(labels, -1)
    weights = np.full((labels, dim), np.nan)
    intercepts = np.full(labels, np.nan)
    reasons: list[str | None] = []
    for label in range(labels):
        target = y_train[:, label]
        reasons.append(_why_undefined(target))
        if reasons[-1] is None:
            best = np.inf
            for index, setting in enumerate(settings):
                fitted, bias, converged[label, index] = _fit(scaled if setting.scale else x_train, target, setting)
                if setting.scale:
                    fitted = fitted / sd
                    bias = bias - float(mean @ fitted)
                logit = x_val @ fitted + bias
                loss[label, index] = float(log_loss(y_val[:, [label]], logit[:, None])[0])
                if loss[label, index] < best:
                    best, chosen[label], weights[label], intercepts[label] = loss[label, index], index, fitted, bias
        if progress:
            progress(label + 1, labels)
    return Probes(
        settings=settings,
        chosen=chosen,
        weights=weights,
        intercepts=intercepts,
        validation_loss=loss,
        converged=converged,
        reasons=tuple(reasons),
    )


def _checked(embeddings: np.ndarray, targets: np.ndarray, *, split: str) -> tuple[np.ndarray, np.ndarray]:
    x = np.ascontiguousarray(embeddings, dtype=np.float64)
    y = np.asarray(targets)
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
        raise DataError(
            f"The {split} split has embeddings {x.shape} and targets {y.shape}; (records, dim) and (records, labels) "
            "of as many records were expected."
        )
    if not len(x):
        raise DataError(f"The {split} split has no records, so no probe can be fitted and chosen.")
    bad = ~np.isfinite(x).all(axis=1)
    if bad.any():
        raise DataError(
            f"{int(bad.sum())} of {len(x)} {split} embeddings are not finite; first row {int(bad.argmax())}."
        )
    return x, y


def _why_undefined(target: np.ndarray) -> str | None:
    positives = int(target.sum())
    if positives == 0:
        return f"no positive among {len(target)} training records"
    if positives == len(target):
        return f"no negative among {len(target)} training records"
    return None


def _fit(x: np.ndarray, target: np.ndarray, setting: ProbeSetting) -> tuple[np.ndarray, float, bool]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        C=setting.C,
        class_weight=None if setting.class_weight == "none" else "balanced",
        solver="lbfgs",
        tol=_TOLERANCE,
        max_iter=_MAX_ITERATIONS,
    )
    with warnings.catch_warnings():
        # Convergence is read off the iteration count below and stored, not printed.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, target)
    return (
        model.coef_[0].astype(np.float64),
        float(np.ravel(model.intercept_)[0]),
        int(np.max(np.asarray(model.n_iter_))) < _MAX_ITERATIONS,
    )
