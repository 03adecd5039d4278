"""Builds the C library and picks the wheel's ABI; everything else is in pyproject.toml."""

import os
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import BaseError, CCompilerError, CompileError


def limited_api(version, is_free_threaded, is_debug):
    """The oldest CPython for which a wheel's extension works, or None if it works only with the one that builds it.

    There are three wheels for a platform:
        cp310-abi3           3.10 and later, with the GIL
        cp314-cp314t         3.14, free-threaded
        cp315-abi3.abi3t     3.15 and later, with or without the GIL; a free-threaded 3.15 builds it
    cffi compiles the extension for the limited API by the same rule.
    """
    if is_debug or (is_free_threaded and version < (3, 15)):
        return None
    return "cp315" if is_free_threaded else "cp310"


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
        documents = [path.name for path in here.glob("[A-Z]*.*") if path.suffix in (".md", ".cff")]
        super().make_release_tree(base_dir, sorted({*files, *kept, *documents, "pyunitok/README.md"}))


if __name__ == "__main__":
    oldest = limited_api(
        sys.version_info, bool(sysconfig.get_config_var("Py_GIL_DISABLED")), hasattr(sys, "gettotalrefcount")
    )
    setup(
        cmdclass={"build_ext": BuildExtension, "sdist": SourceDistribution},
        cffi_modules=["tools/build_ffi.py:ffi"],
        options={"bdist_wheel": {"py_limited_api": oldest}} if oldest else {},
    )
