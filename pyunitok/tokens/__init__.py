"""The token file: read, described, verified, decoded, counted."""
