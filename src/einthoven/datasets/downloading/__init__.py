"""Downloading a release: every file it lists, with the bytes it lists, or the names of those that could not be had."""
