"""Linear probes on frozen embeddings."""
