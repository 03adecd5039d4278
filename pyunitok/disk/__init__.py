"""Durable files: written whole or not at all, hashed, resumable; and files at URLs."""
