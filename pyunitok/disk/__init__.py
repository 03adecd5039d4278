"""Durable files: written whole or not at all, hashed, resumable; and files behind URLs."""
