"""Encoders that are registered nowhere: from a Python file, an exported network, or a table of embeddings."""
