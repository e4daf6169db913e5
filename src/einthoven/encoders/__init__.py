"""Frozen encoders: what turns a record into one embedding, each with a card that says what it expects."""
