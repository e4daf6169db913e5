"""Embeddings stored once for each encoder, preprocessing and cohort, and found again by content."""
