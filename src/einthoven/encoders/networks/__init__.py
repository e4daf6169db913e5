"""The networks of released encoders, as torch modules; keys and arithmetic are those of their authors' checkpoints."""
