"""Single steps that a `Chain` is made of: each a value with an identity and a function of samples."""
