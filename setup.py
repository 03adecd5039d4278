"""Builds the C library and picks the wheel's ABI; everything else stands in pyproject.toml."""

import sys
import sysconfig

from setuptools import setup

# One wheel for CPython 3.10 and later, by its limited API. cffi compiles the extension for it by the same rule: builds
# that are free-threaded or for debugging do without, and get a wheel of their own.
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED") and not hasattr(sys, "gettotalrefcount")

setup(
    cffi_modules=["tools/build_ffi.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if LIMITED_API else {},
)
