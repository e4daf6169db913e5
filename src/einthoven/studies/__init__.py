"""A study is a grid of cells; a ledger holds finished cells; whatever is shown is a pure function of the ledger."""
