"""Checks rules that no linter checks: imports point downwards, are at the top of a module and form no cycles; only
pyunitok/_c uses the C library; private names are used in their own folder; public headers are short; files contain
no conflict markers; functions have at most 60 lines; lines of prose have at most 120 columns; setuptools finds every
package; class names are unique.

    python tools/order.py          prints each violation on a line; the exit code is 1 if there are any
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 120
FUNCTION_LINES = 60  # of Python, and of C in csrc/
HEADER_LINES = {"unitok.h": 700, "unitok_search.h": 400, "unitok_train.h": 600, "unitok_clean.h": 320}  # with comments
# The folders and modules of pyunitok from the top down. Those in one list may import each other and everything in the
# lists below; the rule also covers imports inside functions and imports for type checking.
ROOMS = [
    ["__main__"],
    ["cli"],
    ["ray", "datatrove"],
    ["job"],
    ["export", "compat"],
    ["train"],
    ["index"],
    ["clean"],
    ["run"],
    ["tokens"],
    ["corpus"],
    ["model"],
    ["vocab"],
    ["disk"],
    ["_c", "errors", "packed", "interrupts"],
    ["_lib"],
]
# Functions may import these, because not every installation has them or their dependencies. Two are always installed
# but slow to import. tqdm takes a tenth of a short run, because it scans the installed distributions to find its own
# version; it is used only on terminals. protobuf takes 10 ms and is used only for SentencePiece models. Everything else
# is imported at the top of a module, except for the lazy names of pyunitok/__init__.py and the table of commands in
# cli/.
OPTIONAL = (
    "bz2", "datatrove", "emoji", "fcntl", "fsspec", "google.protobuf", "huggingface_hub", "kaomoji_dataset", "lzma",
    "matplotlib",
    "pyarrow", "pyunitok.index.page", "ray", "regex", "starlette", "tokenizers", "tqdm", "uvicorn",
)  # fmt: skip
# (module, class) of interfaces that imitate a different library; the names of all other classes are unique.
IMITATED = {("bytepiece", "Tokenizer"), ("bytepiece", "Trainer")}
RANK = {name: len(ROOMS) - k for k, names in enumerate(ROOMS) for name in names}
# (importer, imported): the reason.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("errors", "disk.url"): "error messages must hide the secrets in a URL, and disk.url defines what is secret",
}


def public_names() -> dict[str, str]:
    """The lazy names of pyunitok/__init__.py and the modules that define them."""
    tree = ast.parse((ROOT / "pyunitok/__init__.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_LAZY":
            return dict(ast.literal_eval(node.value))
    raise AssertionError("pyunitok/__init__.py has no _LAZY")


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """(path, syntax tree) of every module of the package."""
    for path in sorted((ROOT / "pyunitok").rglob("*.py")):
        yield path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))


def dotted(where: Path) -> str:
    """The name of a module in the package: run.plan for pyunitok/run/plan.py."""
    return ".".join(where.with_suffix("").parts[1:])


def imports_of(tree: ast.Module, names: dict[str, str]) -> Iterator[tuple[int, str]]:
    """(line, module within pyunitok) of everything in this package that a file imports or uses as `pyunitok.NAME`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name[9:]) for name in node.names if name.name.startswith("pyunitok."))
        elif isinstance(node, ast.ImportFrom) and node.module == "pyunitok":
            yield from ((node.lineno, names.get(name.name, name.name)) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyunitok."):
            folder, module = ROOT / str(node.module).replace(".", "/"), str(node.module)[9:]
            for name in node.names:
                is_module = (folder / f"{name.name}.py").exists() or (folder / name.name).is_dir()
                yield node.lineno, f"{module}.{name.name}" if is_module else module
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pyunitok" and node.attr in names:
            yield node.lineno, names[node.attr]


def upward_imports() -> Iterator[str]:
    names = public_names()
    used = set()
    for where, tree in modules():
        importer = dotted(where)
        room = importer.split(".")[0]
        if room == "__init__":
            continue
        if room not in RANK:
            yield f"{where}: {room} is not in ROOMS of tools/order.py"
            continue
        for line, module in imports_of(tree, names):
            target = module.split(".")[0]
            if (importer, module) in EXCEPTIONS:
                used.add((importer, module))
            elif target in RANK and RANK[target] > RANK[room]:
                yield f"{where}:{line}: {room} imports {module}, which is above it"
    for pair in EXCEPTIONS.keys() - used:
        yield f"tools/order.py: the exception {pair} is no longer necessary"


def late_imports() -> Iterator[str]:
    for where, tree in modules():
        if dotted(where) == "__init__":
            continue
        late = set()
        for scope in ast.walk(tree):
            is_typing = isinstance(scope, ast.If) and ast.unparse(scope.test) == "TYPE_CHECKING"
            if is_typing or isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(scope):
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        module = str(node.module) if isinstance(node, ast.ImportFrom) else node.names[0].name
                        if not f"{module}.".startswith(tuple(f"{name}." for name in OPTIONAL)):
                            late.add((node.lineno, module))
        yield from (f"{where}:{line}: {module} is not imported at the top" for line, module in sorted(late))


def circles() -> Iterator[str]:
    """The first cycle of modules that import each other."""
    names, graph = public_names(), {}
    for where, tree in modules():
        module = dotted(where).removesuffix(".__init__")
        graph[module] = {name for _, name in imports_of(tree, names)} if module != "__init__" else set()
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"pyunitok: modules import each other in a cycle: {' <- '.join(error.args[1])}"


def repeated_classes() -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for where, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and (where.stem, node.name) not in IMITATED:
                found.setdefault(node.name, []).append(f"{where}:{node.lineno}")
    yield from (f"{', '.join(places)}: classes with the name {name}" for name, places in found.items() if places[1:])


def tracked(*patterns: str) -> list[Path]:
    """The files of the project: those tracked by git, or all files outside a repository (in an sdist)."""
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=False)
    found = [ROOT / name for name in listed.stdout.splitlines()]
    if listed.returncode != 0:
        found = [path for pattern in patterns or ("*",) for path in ROOT.rglob(pattern)]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def conflict_markers() -> Iterator[str]:
    marker = re.compile(r"^(<{7} |>{7} |={7}$|\|{7} )", re.M)
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # not a text file
        found = marker.search(text)
        if found and ("<" * 7 in text or ">" * 7 in text):
            yield f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}: a conflict marker"


def long_lines() -> Iterator[str]:
    """Lines of prose longer than 120 columns. Rows of tables may be longer, and so may text in tests/ that is data."""
    for path in tracked("*.md", "*.txt"):
        if (path.is_relative_to(ROOT / "tests") and path.suffix == ".txt") or ROOT / "tests/golden" in path.parents:
            continue
        for k, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            if len(line) > COLUMNS and not line.lstrip().startswith("|"):
                yield f"{path.relative_to(ROOT)}:{k + 1}: {len(line)} columns"


def unfound_packages() -> Iterator[str]:
    """Folders that setuptools would omit from a wheel. setuptools must find packages by their __init__.py."""
    if "[tool.setuptools.packages.find]" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8"):
        yield "pyproject.toml: packages are listed; use [tool.setuptools.packages.find]"
    for folder in sorted({path.parent for path in (ROOT / "pyunitok").rglob("*.py")}):
        if not (folder / "__init__.py").exists():
            yield f"{folder.relative_to(ROOT)}: has modules but no __init__.py"


def library_uses() -> Iterator[str]:
    """Uses of the compiled library outside pyunitok/_c."""
    for where, tree in modules():
        if where.parts[1] == "_c":
            continue
        for node in ast.walk(tree):
            names = {name.name for name in getattr(node, "names", []) if isinstance(name, ast.alias)}
            names.add(getattr(node, "module", ""))
            is_call = str(getattr(node, "attr", "")).lower().startswith("unitok_")
            if is_call or names & {"pyunitok._lib", "_lib", "ffi", "lib"}:
                yield f"{where}:{node.lineno}: only pyunitok/_c uses the C library"  # type: ignore[attr-defined]


def private_uses() -> Iterator[str]:
    """Uses of private attributes that are defined only in other folders. The methods of named tuples are public."""
    uses, rooms = [], defaultdict(set)
    for where, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                uses.append((where, node.lineno, node.attr))
            else:
                name = next((str(getattr(node, key)) for key in ("name", "attr", "id") if hasattr(node, key)), "")
                rooms[name].add(where.parts[1])
    for where, line, name in uses:
        if re.match(r"_(?!_|make$|fields$|replace$)", name) and rooms[name] and where.parts[1] not in rooms[name]:
            yield f"{where}:{line}: {name} is private to another folder"


def long_headers() -> Iterator[str]:
    for name, most in HEADER_LINES.items():
        n_lines = (ROOT / "csrc" / name).read_text(encoding="utf-8").count("\n")
        if n_lines > most:
            yield f"csrc/{name}: {n_lines} lines, at most {most}"


def functions_of(path: Path) -> Iterator[tuple[int, str, int]]:
    """(first line, name, number of lines) of every function. In C formatted by .clang-format, only the braces of a
    function stand alone in the first column, and only its signature continues on indented lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.lineno, node.name, (node.end_lineno or node.lineno) - node.lineno + 1
        return
    for found in re.finditer(r"^\w[^\n;{}]*(\n +[^\n;{}]*)*\n\{$.*?^\}$", text, re.M | re.S):
        name = re.findall(r"(\w+)\)?\(", found[0].partition("\n")[0])[-1]  # in a template, the name of NAME(x)( is x
        yield text.count("\n", 0, found.start()) + 1, name, found[0].count("\n") + 1


def long_functions() -> Iterator[str]:
    for path in tracked("*.py", "csrc/*/*.[ch]"):
        for line, name, n_lines in functions_of(path):
            if n_lines > FUNCTION_LINES:
                yield f"{path.relative_to(ROOT)}:{line}: {name} has {n_lines} lines, at most {FUNCTION_LINES}"


def faults() -> list[str]:
    return [
        *upward_imports(), *late_imports(), *circles(), *conflict_markers(), *long_lines(), *unfound_packages(),
        *library_uses(), *private_uses(), *long_headers(), *long_functions(),
        *repeated_classes(),
    ]  # fmt: skip


if __name__ == "__main__":
    found = faults()
    print("\n".join(found))
    sys.exit(1 if found else 0)
