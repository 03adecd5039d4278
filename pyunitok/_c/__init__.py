"""The C library as Python sees it: the only code that touches it, one module for each part."""
