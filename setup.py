"""Builds the C library and picks the wheel's ABI; everything else stands in pyproject.toml."""

import os
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import BaseError, CCompilerError, CompileError

# One wheel for CPython 3.10 and later, by its limited API. cffi compiles the extension for it by the same rule: builds
# that are free-threaded or for debugging do without, and get a wheel of their own.
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED") and not hasattr(sys, "gettotalrefcount")


NEEDS_COMPILER = """cannot compile the C library: {}
pyunitok needs a C compiler and Python's headers. Debian, Ubuntu: apt-get install gcc libc6-dev python3-dev; Fedora: \
dnf install gcc python3-devel; macOS: xcode-select --install; Windows: Build Tools for Visual Studio, with C++"""


class BuildExtension(build_ext):
    """Compiles as many C files at a time as there are cores. An error says what to install."""

    def run(self):
        try:
            super().run()
        except (BaseError, CCompilerError) as error:
            raise CompileError(NEEDS_COMPILER.format(error)) from error

    def build_extension(self, ext):
        compile_in_turn = self.compiler.compile

        def compile_together(sources, *arguments, **options):
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                made = pool.map(lambda source: compile_in_turn([source], *arguments, **options), sources)
                return [name for names in made for name in names]

        self.compiler.compile = compile_together
        super().build_extension(ext)


class SourceDistribution(sdist):
    """An sdist with all that building and testing need; there is no MANIFEST.in."""

    def make_release_tree(self, base_dir, files):
        here = Path(__file__).resolve().parent
        found = [path for folder in ("csrc", "tests", "tools") for path in (here / folder).rglob("*")]
        kept = [str(path.relative_to(here)) for path in found if path.is_file() and "__pycache__" not in path.parts]
        super().make_release_tree(base_dir, sorted({*files, *kept, "CHANGELOG.md", "pyunitok/README.md"}))


setup(
    cmdclass={"build_ext": BuildExtension, "sdist": SourceDistribution},
    cffi_modules=["tools/build_ffi.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if LIMITED_API else {},
)
