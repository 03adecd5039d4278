"""The only code that calls the C library: one module for each section of its headers, which document the functions."""
