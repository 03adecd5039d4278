"""Converts text to ids and back with a model in memory."""
