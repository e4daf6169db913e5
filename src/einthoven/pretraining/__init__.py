"""Training an encoder without labels, as a baseline that everybody can make again."""
