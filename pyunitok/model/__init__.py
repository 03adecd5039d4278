"""A model in memory, which converts text to ids and back."""
