"""Removes text from a corpus: corpus in, corpus out."""
