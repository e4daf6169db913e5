"""What cells can be: one module a kind, each with `VERSION` and `run(cell, context) -> Output`."""
