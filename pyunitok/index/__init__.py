"""Suffix arrays over token files: building, opening and searching them."""
