"""Builds, opens and searches suffix arrays over token files."""
