"""Names of the split rules that a dataset of few patients offers: five folds, every patient once in test.

Apart from `splitting`, so that cards, which are read for every listing, need no numpy.
"""

FOLDS = 5
FOLD_RULES = {
    f"fold-{fold + 1}": f"patients of fold {fold + 1} of {FOLDS} are test, of the next one val, the others train"
    for fold in range(FOLDS)
}
