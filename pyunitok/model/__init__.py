"""One model in memory: texts to ids and back."""
