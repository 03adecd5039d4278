"""Small models, vocabularies, texts and token files for tests."""
