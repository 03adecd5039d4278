"""Writes durable files (complete or not at all, hashed, resumable), and reads files at URLs."""
