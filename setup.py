"""Builds the C library and picks the wheel's ABI; everything else stands in pyproject.toml."""

import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist

# CPython's limited API gives one wheel for 3.10 and later; free-threaded builds do not have it.
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


class SourceDistribution(sdist):
    """An sdist with all that building and testing need."""

    def add_defaults(self):
        super().add_defaults()
        here = Path(__file__).resolve().parent
        for folder in ("csrc", "tests", "tools"):
            for path in sorted((here / folder).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    self.filelist.append(str(path.relative_to(here)))
        self.filelist.append("CHANGELOG.md")


setup(
    cffi_modules=["tools/build_ffi.py:ffi"],
    cmdclass={"sdist": SourceDistribution},
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp310"}},
)
