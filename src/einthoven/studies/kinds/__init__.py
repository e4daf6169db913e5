"""What cells can be: one module a kind; each defines `KIND`."""
