"""Opens, decodes, verifies and describes token files, with their manifests and metadata."""
