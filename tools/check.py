"""Runs all CI checks.

    python tools/check.py                           every step
    python tools/check.py lint c                    only these
    python tools/check.py fuzz --fuzz-seconds 600   fuzz for longer; new inputs are kept in build/fuzz

Requires `pip install -e '.[dev]'`, gcc, clang for fuzzing, and Python 3.11 for `lowest`. A step without its compiler
or its Python is skipped with a note, or fails if the environment variable CI is set. The exit code is 1 if a step
fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

import order
import rattler_build
import release
import yaml

ROOT = Path(__file__).resolve().parent.parent
S = TypeVar("S")
T = TypeVar("T")

WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
FUZZER = "-fsanitize=fuzzer"
LIBRARIES = ["-lm"]
CROSS = ["-static", "-O2"]  # the sanitizers do not work under emulation
PACKAGES = {  # the Debian package of each compiler
    "gcc": "gcc libc6-dev",
    "clang": "clang libclang-rt-14-dev",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user",
}
# With the sanitizers, these would take minutes. Most of them test Python code; the C code that the rest reach is also
# tested by other files and by tests/c.
NOT_SANITIZED = [
    "advice", "bench", "byte_convert", "changes", "checks", "clean_page", "cli", "commands", "compat_bytepiece",
    "compat_earlier", "compat_normalizer", "compat_rwkv", "compat_sentencepiece", "compat_tiktoken",
    "compat_trainer", "consumers", "convert", "damage", "damaged_models", "datatrove", "decontaminate",
    "decontaminate_parquet", "decontaminate_presets", "deduplicate", "default_vocab", "direct", "division",
    "drop_tokens", "duplicates", "encode_command", "export", "fields", "formats", "forms", "golden_index",
    "golden_ranks", "golden_run", "ids_in_docs", "index_build", "index_crash", "index_shard", "index_wide",
    "inputs", "interrupts", "japanese", "job", "json_results", "manifest", "merge", "metadata", "oracle_bpe",
    "outfile", "output", "packaging", "page_views", "pages", "parquet", "parts", "pipeline", "progress",
    "ranks", "ray", "readahead", "readme", "reference", "remote", "resume", "rwkv_vocab", "s3", "sample",
    "search_cli", "secrets", "sentencepiece_model", "serve", "sharing", "small_frames", "sniff", "sources",
    "state", "statistics", "statistics_peers", "stats", "text_pipeline", "thread_counts", "trace",
    "train_byte_level", "train_bytepiece", "train_checkpoint", "train_longest_job", "train_options",
    "train_report", "train_sentencepiece", "train_shared", "train_threads", "trainers", "typing", "unchanged",
    "unigram", "upload", "verify", "vocab", "vocab_prose", "wide_ids", "word_sequences", "workers", "writers",
    "zst",
]
# Together, these use every dependency, and most of the functions that the package calls in them.
QUICK = ["cli", "jsonl", "manifest", "metadata", "parquet", "remote", "sentencepiece_model", "stats", "tokens", "zst"]
# These check that an installed wheel works; check_files checks that no file is missing from the wheel.
INSTALLED = [
    "cli", "export", "golden_models", "index_build", "job", "sniff", "packaging", "native", "pipeline", "search_cli",
    "serve", "stats", "text_models", "train", "typing",
]
# Imports all modules except the one that runs the command and the one that requires datatrove.
IMPORT_ALL = """
import importlib, pkgutil, pyunitok
for module in pkgutil.walk_packages(pyunitok.__path__, "pyunitok."):
    if module.name not in ("pyunitok.__main__", "pyunitok.datatrove"):
        importlib.import_module(module.name)
"""
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.so", "*.pyd", "*.egg-info", "build", "dist", "_lib.c")


class Failed(Exception):
    """A step failed. The message is the output of the step."""


class Skipped(Exception):
    """A step cannot run on this machine. The message gives the reason."""


class Target(NamedTuple):
    compiler: str
    flags: list[str]
    runner: list[str]  # the command that runs the compiled programs


C_TARGETS = [
    Target("gcc", ["-DUNITOK_TEST_ALLOC", *SANITIZERS], []),
    Target("clang", ["-DUNITOK_TEST_ALLOC", *SANITIZERS], []),
    Target("aarch64-linux-gnu-gcc", ["-DUNITOK_TEST_ALLOC", *CROSS], ["qemu-aarch64"]),  # for the NEON code
]
# These take longest, and run no code that is specific to a processor: only the first target runs them.
LONG = ["test_compact", "test_hat", "test_search", "test_suffix", "test_train"]


def run(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Run a command; return stdout and stderr together. Raise Failed unless the exit code is 0."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    if done.returncode != 0:
        raise Failed(f"$ {shlex.join(words)}\n{done.stdout}\n(exit code {done.returncode}, in {cwd})")
    return done.stdout


def together(function: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """Call function(item) for each item, on all cores. If any call raises, raise Failed with all messages."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = [pool.submit(function, item) for item in items]
    if failures := [str(error) for future in futures if (error := future.exception())]:
        raise Failed("\n".join(failures))
    return [future.result() for future in futures]


def pytest(python: str | Path, *options: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Run pytest; return the last line of its output."""
    return run(python, "-m", "pytest", "-q", *options, cwd=cwd, env=env).strip().rpartition("\n")[2]


def copy_env(**more: str) -> dict[str, str]:
    """The environment for tests in a copy of this tree. The tests use the corpora next to the original tree."""
    shared = ROOT.parent / "shared"
    defaults = {"PYUNITOK_SHARED": str(shared), "PYUNITOK_DATA": str(shared / "data"), "HYPOTHESIS_PROFILE": "ci"}
    return {name: os.environ.get(name, value) for name, value in defaults.items()} | more


def links(compiler: str, flags: Iterable[str] = ()) -> bool:
    """Whether this compiler is installed and can link with these flags; their runtime may be in a separate package."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        function = "LLVMFuzzerTestOneInput(const char *p, long n)" if FUZZER in flags else "main(void)"
        source.write_text(f"int {function} {{ return 0; }}\n")
        try:
            run(compiler, *flags, source, "-o", Path(folder, "probe"))
        except (FileNotFoundError, Failed):
            return False
    return True


def missing(text: str) -> Exception:
    """The exception to raise if a requirement of a step is not installed."""
    return Failed(text) if os.environ.get("CI") else Skipped(text)


def require(compiler: str, flags: list[str]) -> None:
    if not links(compiler, flags):
        raise missing(f"{compiler} does not work with {flags[0]}; on Debian: apt-get install {PACKAGES[compiler]}")


def c_files(pattern: str) -> list[Path]:
    return sorted(ROOT.glob(pattern))


def compile_c(target: Target, *arguments: str | Path) -> None:
    run(target.compiler, *WARNINGS, "-g", "-O1", "-DUNITOK_DEBUG", "-Icsrc", "-Itests/c", *target.flags, *arguments)


def compile_library(target: Target, folder: Path) -> list[Path]:
    folder.mkdir(exist_ok=True)
    objects = {source: folder / f"{source.parent.name}_{source.stem}.o" for source in c_files("csrc/*/*.c")}
    together(lambda source: compile_c(target, "-c", source, "-o", objects[source]), objects)
    return list(objects.values())


# The folders of csrc/ from the top down: a file includes only headers from its own folder and from folders below.
C_ROOMS = ["clean", "train", "suffix", "model", "encoders", "text", "structures", "ground"]
# Only the folders that implement a public header include it directly; other files include it through their headers.
C_PUBLIC = {"unitok.h": ["ground"], "unitok_search.h": ["suffix"], "unitok_train.h": ["train", "structures"],
            "unitok_clean.h": ["clean"]}  # fmt: skip


def check_includes(root: Path = ROOT) -> None:
    """Raise Failed if a C file includes a header from a folder above its own, or from an unknown folder."""
    wrong = []
    for source in sorted((root / "csrc").glob("*/*.[ch]")):
        room = source.parent.name
        allowed = C_ROOMS[C_ROOMS.index(room) :] if room in C_ROOMS else []
        for line, included in re.findall(r'^(\s*#\s*include\s+"([^"]+)")', source.read_text(encoding="utf-8"), re.M):
            if room not in C_PUBLIC.get(included, []) and included.partition("/")[0] not in allowed:
                wrong.append(f"{source.relative_to(root)}: {line.strip()}: not in {room}/ or in a folder below it")
    if wrong:
        raise Failed("\n".join(wrong))


def check_lint(_: argparse.Namespace) -> str:
    """Run ruff, mypy, clang-format, every compiler with warnings as errors, and the rules of order.py."""
    check_includes()
    if "#if" in (ROOT / "csrc/model/router.c").read_text(encoding="utf-8"):
        raise Failed("csrc/model/router.c: #if is not allowed; add a path to the kind of model instead (kind.h)")
    if wrong := order.faults():
        raise Failed("\n".join(wrong))
    compilers = [compiler for compiler in PACKAGES if links(compiler)]
    commands = [[sys.executable, "-m", "ruff", "check", "."], [sys.executable, "-m", "mypy"]]
    commands += [[c, *WARNINGS, "-fsyntax-only", "-Icsrc", *map(str, c_files("csrc/*/*.c"))] for c in compilers]
    formatted = [*c_files("csrc/**/*.[ch]"), *c_files("tests/c/*.[ch]")]
    clang_format = Path(sys.executable).with_name("clang-format")
    commands += [[str(clang_format), "--dry-run", "-Werror", *map(str, formatted)]]
    together(lambda command: run(*command), commands)
    return ", ".join(["ruff", "mypy", "clang-format", *compilers])


def check_tests(_: argparse.Namespace) -> str:
    """Run all Python tests, including slow ones, with the installed package."""
    return pytest(sys.executable, "-n", "auto", "-m", "")


def check_lowest(_: argparse.Namespace) -> str:
    """Run some Python tests with the oldest dependencies that pyproject.toml allows, on CPython 3.11."""
    python = shutil.which("python3.11")
    if python is None:
        raise missing("python3.11 is not installed; only that version has wheels of all these dependencies")
    lists = dict(re.findall(r"^(\w+) = \[(.*?)\]$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M | re.S))
    wanted = " ".join(lists[name] for name in ("dependencies", "parquet", "remote", "plot", "test"))
    marker = r"; python_version < '[\d.]+'"
    oldest = [f"{name}=={version}" for name, version in re.findall(rf'"([\w\[\]-]+)>=([\d.]+)(?:{marker})?"', wanted)]
    with tempfile.TemporaryDirectory() as name:
        run(python, "-m", "venv", name)
        environment = Path(name, "bin/python")
        run(environment, "-m", "pip", "install", "-q", "--only-binary", ":all:", *oldest)
        tests = [f"tests/test_{noun}.py" for noun in QUICK]
        return f"{len(oldest)} packages: {pytest(environment, '-n', 'auto', *tests, env=copy_env())}"


def check_c(_: argparse.Namespace) -> str:
    """Run every tests/c/test_*.c under ASan and UBSan, with an allocator that can fail."""
    require("gcc", SANITIZERS)
    targets = [t for t in C_TARGETS if links(t.compiler, t.flags) and all(map(shutil.which, t.runner))]
    tests = c_files("tests/c/test_*.c")
    with tempfile.TemporaryDirectory() as name:
        libraries = [compile_library(target, Path(name, target.compiler)) for target in targets]
        jobs = [(target, objects, test) for test in tests for target, objects in zip(targets, libraries, strict=True)
                if target is targets[0] or test.stem not in LONG]  # fmt: skip
        together(lambda job: run_c_test(*job), jobs)
    return f"{len(tests)} programs, by {', '.join(target.compiler for target in targets)}"


def run_c_test(target: Target, objects: list[Path], test: Path) -> None:
    program = objects[0].with_name(test.stem)
    sources = [test]
    if '"test_alloc.h"' not in test.read_text(encoding="utf-8"):  # the program does not define the allocator itself
        sources.append(program.with_suffix(".alloc.c"))
        sources[1].write_text('#include "test_alloc.h"\n')
    compile_c(target, *sources, *objects, *LIBRARIES, "-o", program)
    run(*target.runner, program)


def check_sanitize(_: argparse.Namespace) -> str:
    """Run the Python tests with the C library under ASan and UBSan, in a copy of this tree."""
    if sys.platform != "linux":
        raise Skipped("only on Linux")
    require("gcc", SANITIZERS)
    with tempfile.TemporaryDirectory() as folder:
        tree, logs = Path(folder, "tree"), Path(folder, "logs")
        shutil.copytree(ROOT, tree, ignore=NOT_COPIED)
        logs.mkdir()
        # Python's own flags would define overflow (-fwrapv) and remove assertions (-DNDEBUG).
        undo = ["-fno-wrapv", "-UNDEBUG"]
        flags = {"UNITOK_CFLAGS": shlex.join(["-O1", "-g", "-DUNITOK_DEBUG", *undo, *SANITIZERS]),
                 "UNITOK_LDFLAGS": shlex.join(SANITIZERS), "CC": "gcc"}  # fmt: skip
        run(sys.executable, "setup.py", "-q", "build_ext", "--inplace", cwd=tree, env=flags)
        env = copy_env(
            # With libstdc++: otherwise ASan ends the process if a reference tokenizer written in C++ throws.
            LD_PRELOAD=" ".join(
                run("gcc", f"-print-file-name={name}").strip() for name in ("libasan.so", "libstdc++.so.6")
            ),
            # Python does not free all memory at exit, and a test may request more memory than the machine has.
            ASAN_OPTIONS=f"detect_leaks=0:allocator_may_return_null=1:log_path={logs}/asan",
            UBSAN_OPTIONS="print_stacktrace=1",
            PYTHONMALLOC="malloc",  # detects reads beyond a bytes object
            PYTHONPATH=str(tree),
            PYUNITOK_SANITIZED="1",  # for tests that measure time or memory
            HYPOTHESIS_PROFILE="sanitizers",  # fewer examples: tests are several times slower
        )
        where = run(sys.executable, "-c", "import pyunitok._lib as lib; print(lib.__file__)", cwd=tree, env=env)
        if Path(where.strip()).parents[1] != tree:
            raise Failed(f"the tests would use {where} instead of the sanitized library")
        try:
            # faulthandler would take SIGSEGV from ASan, and capturing file descriptors would lose UBSan's reports.
            left_out = [f"--ignore=tests/test_{name}.py" for name in NOT_SANITIZED]
            options = ["-n", "auto", "-p", "no:faulthandler", "--capture=sys", *left_out]
            result = pytest(sys.executable, *options, cwd=tree, env=env)
        except Failed as failed:
            result = str(failed)
        # These include reports of child processes, whose exit code a test may ignore. pytest does not print them.
        reports = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(logs.iterdir())]
        if reports or result.startswith("$"):
            raise Failed("\n".join([result, *reports]))
    return result


def check_fuzz(options: argparse.Namespace) -> str:
    """Run every tests/c/fuzz_*.c for --fuzz-seconds under libFuzzer."""
    target = Target("clang", [FUZZER, *SANITIZERS], [])
    require(target.compiler, target.flags)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        objects = compile_library(target, folder)

        def fuzz(source: Path) -> str:
            program, found = folder / source.stem, ROOT / "build" / "fuzz" / source.stem
            found.mkdir(parents=True, exist_ok=True)
            compile_c(target, source, *objects, *LIBRARIES, "-o", program)
            limits = [f"-max_total_time={options.fuzz_seconds}", "-max_len=4096", "-timeout=20"]
            runs = re.search(r"Done (\d+) runs", run(program, *limits, f"-artifact_prefix={found}-", found))
            return f"{source.stem} {int(runs[1]) if runs else 0:,} runs"

        return ", ".join(together(fuzz, c_files("tests/c/fuzz_*.c"))) or "no fuzz targets"


def check_files(sdist: Path, wheel: Path) -> None:
    """Raise Failed if the unpacked sdist lacks a file of the project or the wheel lacks one of the package, or if the
    wheel contains debug information."""
    tracked = [path.relative_to(ROOT) for path in order.tracked()]
    wrong = [f"the sdist lacks {path}" for path in tracked if path.parts[0][0] != "." and not (sdist / path).exists()]
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        libraries = [name for name in names if name.endswith((".so", ".pyd"))]
        wrong += [f"{name} contains debug information" for name in libraries if b".debug_info" in archive.read(name)]
    wrong += [f"the wheel lacks {path}" for path in tracked if path.parts[0] == "pyunitok" and path.suffix != ".md"
              and path.as_posix() not in names]  # fmt: skip
    if wrong:
        raise Failed("\n".join(wrong))


def check_release(_: argparse.Namespace) -> str:
    """Build the sdist and a wheel twice; check their files, install each, and run some tests with the wheel."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for build in ("first", "second"):
            run(sys.executable, "tools/release.py", "build", folder / build)
        (sdist,), (wheel,) = folder.glob("first/*.tar.gz"), folder.glob("first/*.whl")
        for path in (sdist, wheel):
            if path.read_bytes() != (folder / "second" / path.name).read_bytes():
                raise Failed(f"a second build of {path.name} differs")
        with tarfile.open(sdist) as tar:
            if junk := [n for n in tar.getnames() if re.search(r"__pycache__|\.(so|pyd|o|pyc)$", n)]:
                raise Failed(f"the sdist contains build products: {junk}")
            tar.extractall(folder)
        tree = folder / sdist.name.removesuffix(".tar.gz")
        check_files(tree, wheel)
        check_wheel(wheel)
        run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
        shutil.rmtree(tree / "pyunitok")  # so that the installed package is imported
        python = installed(sdist, folder / "from sdist")
        use(python, tree)
        for command in conda_tests((tree / "tools/conda/recipe.yaml").read_text(encoding="utf-8")):
            run("bash", "-c", f'PATH="{python.parent}:$PATH"; {command}', cwd=folder)
        python = installed(f"{wheel}[test]", folder / "from wheel")
        use(python, tree)
        run(python, "-c", IMPORT_ALL, cwd=tree)
        tests = [f"tests/test_{noun}.py" for noun in INSTALLED]
        return f"{wheel.name}: {pytest(python, '-n', 'auto', *tests, cwd=tree, env=copy_env())}"


def check_wheel(wheel: Path) -> None:
    if "-cp310-abi3-" not in wheel.name:
        raise Failed(f"{wheel.name} is not the abi3 wheel of CPython 3.10 and later")
    run(sys.executable, "-m", "abi3audit", "--strict", wheel)
    sbom = release.sbom_of(wheel)
    if sbom["bomFormat"] != "CycloneDX" or sbom["components"] == []:
        raise Failed("the wheel lists no bundled data")


def installed(package: str | Path, folder: Path) -> Path:
    """Install a package in a new environment. Returns its Python."""
    run(sys.executable, "-m", "venv", folder)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run(python, "-m", "pip", "install", "-q", package)
    return python


def conda_tests(recipe: str) -> list[str]:
    """The commands that conda-forge runs to test the package. rattler-build must accept the recipe."""
    variants = {"c_compiler": ["gcc"], "c_stdlib": ["sysroot"], "python": ["3.11.* *_cpython"]}
    rattler_build.Stage0Recipe.from_yaml(recipe).render(rattler_build.VariantConfig(variants))
    tests = yaml.safe_load(recipe)["tests"]
    ret = [f"python -c 'import {name}'" for test in tests if "python" in test for name in test["python"]["imports"]]
    return [*ret, "python -m pip check", *(line for test in tests for line in test.get("script", []))]


def use(python: Path, tree: Path) -> None:
    """Run the README's first command, complete a word, and write the manual pages."""
    command = python.with_name("pyunitok")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (first,) = re.findall(r"^pip install -e \. && pyunitok (.*)$", readme, re.M)
    run(command, *shlex.split(first), cwd=tree)
    asked = {"_PYUNITOK_COMPLETE": "bash_complete", "COMP_WORDS": "pyunitok tok", "COMP_CWORD": "1"}
    if "plain,tokenize" not in (found := run(command, cwd=tree, env=os.environ | asked)):
        raise Failed(f"the shell completion of 'tok' is {found!r}")
    run(python, "-m", "pip", "install", "-q", "click-man")
    run(python.with_name("click-man"), "pyunitok", "--target", tree / "man")
    if not (tree / "man/pyunitok-tokenize.1").exists():
        raise Failed("there is no manual page for tokenize")


def check_docs(_: argparse.Namespace) -> str:
    """Build the documentation site, where warnings are errors, and open every page in Chromium."""
    if not (shutil.which("chromium") or shutil.which("google-chrome")):
        raise missing("Chromium is not installed")
    with tempfile.TemporaryDirectory() as name:
        for action in ("build", "check"):
            run(sys.executable, "tools/docs_site.py", action, name)
        return f"{len(list(Path(name).glob('*.html')))} pages"


STEPS: dict[str, Callable[[argparse.Namespace], str]] = {
    "lint": check_lint, "tests": check_tests, "c": check_c, "sanitize": check_sanitize, "fuzz": check_fuzz,
    "release": check_release, "lowest": check_lowest, "docs": check_docs,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"{', '.join(STEPS)}; all steps by default")
    parser.add_argument("--fuzz-seconds", type=int, default=20, metavar="N", help="seconds per fuzz target (20)")
    options = parser.parse_args()
    if unknown := set(options.steps) - set(STEPS):
        parser.error(f"no such step: {', '.join(sorted(unknown))}")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in options.steps or STEPS:
        print(f"{name:9}", end="", flush=True)
        start = time.monotonic()
        try:
            result, text = "passed", STEPS[name](options)
        except (Failed, FileNotFoundError) as failed:
            result, text = "failed", f"\n{failed}"
        except Skipped as skipped:
            result, text = "skipped", str(skipped)
        counts[result] += 1
        print(f"{result:8}{time.monotonic() - start:7.1f} s  {text}", flush=True)
    print(", ".join(f"{n} {result}" for result, n in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
