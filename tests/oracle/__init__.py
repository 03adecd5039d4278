"""Slow and obvious implementations that define every algorithm. If fast code gives different results, it is wrong."""
