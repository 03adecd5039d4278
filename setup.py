"""Builds the C library and picks the wheel's ABI; everything else stands in pyproject.toml."""

import sys
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist

# One wheel for CPython 3.10 and later, by its limited API. cffi compiles the extension for it by the same rule: builds
# that are free-threaded or for debugging do without, and get a wheel of their own.
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED") and not hasattr(sys, "gettotalrefcount")


class SourceDistribution(sdist):
    """An sdist with all that building and testing need; there is no MANIFEST.in."""

    def make_release_tree(self, base_dir, files):
        here = Path(__file__).resolve().parent
        found = [path for folder in ("csrc", "tests", "tools") for path in (here / folder).rglob("*")]
        kept = [str(path.relative_to(here)) for path in found if path.is_file() and "__pycache__" not in path.parts]
        super().make_release_tree(base_dir, sorted({*files, *kept, "CHANGELOG.md"}))


setup(
    cmdclass={"sdist": SourceDistribution},
    cffi_modules=["tools/build_ffi.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if LIMITED_API else {},
)
