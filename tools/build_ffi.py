"""Compiles csrc/ into pyunitok._lib. cffi reads the public headers unchanged. setup.py runs this script."""

import os
import re
import shlex
import sys
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parent.parent
# setuptools requires names of sources relative to the folder of setup.py.
FILES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "csrc").rglob("*.[ch]"))

HEADERS = ["unitok.h", "unitok_search.h", "unitok_train.h", "unitok_clean.h"]
MSVC = sys.platform == "win32"
# No -march: a wheel runs on any x86-64, and csrc/ground/cpu.c selects instruction sets at run time. -g0 overrides
# Python's own -g: debug information would make the library four times as large.
CFLAGS = ["/O2", "/std:c11"] if MSVC else ["-O3", "-g0", "-std=c11", "-fno-math-errno", "-Wall", "-Wextra"]

ffi = FFI()
for name in HEADERS:  # cffi rejects #include and warns about #pragma
    ffi.cdef(re.sub(r"^#(include|pragma) .*\n", "", (ROOT / "csrc" / name).read_text(encoding="utf-8"), flags=re.M))
ffi.set_source(
    "pyunitok._lib",
    "".join(f'#include "{name}"\n' for name in HEADERS),
    sources=[name for name in FILES if name.endswith(".c")],
    depends=[*(name for name in FILES if name.endswith(".h")), "tools/build_ffi.py"],
    include_dirs=["csrc"],
    libraries=[] if MSVC else ["m"],
    # UNITOK_CFLAGS adds flags: -g for a debugger, sanitizers in tools/check.py.
    extra_compile_args=CFLAGS + shlex.split(os.environ.get("UNITOK_CFLAGS", "")),
    extra_link_args=shlex.split(os.environ.get("UNITOK_LDFLAGS", "")),
)

if __name__ == "__main__":
    ffi.compile(verbose=True)
