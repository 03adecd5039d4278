"""Makers of small models, vocabularies, texts and token files to test with."""
