"""The definition of every algorithm: slow and obvious. Where the fast code differs, the fast code is wrong."""
