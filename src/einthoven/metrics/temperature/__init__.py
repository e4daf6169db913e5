"""Temperature scaling: one number, fitted on validation logits."""
