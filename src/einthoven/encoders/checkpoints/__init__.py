"""Released weights: read safely, matched tensor by tensor, kept in one format."""
