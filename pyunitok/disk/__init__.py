"""Durable files: written completely or not at all, hashed, resumable; and files at URLs."""
