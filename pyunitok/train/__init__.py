"""pyunitok.train: from corpora to counts to a model."""
