"""The definition of every algorithm, slow and obvious. Where fast code differs from it, the fast code is wrong."""
