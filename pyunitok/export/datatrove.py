"""Exports for datatrove and nanotron: NAME_00000_unshuffled.ds (tokens), .ds.index (OUT.ends) and .ds.metadata."""

from __future__ import annotations

from pyunitok.export.files import Folder
from pyunitok.export.options import Options
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.manifest import sidecars

TAKES = ()


def names(options: Options) -> list[str]:
    base = f"{options.name}_00000_unshuffled.ds"
    return [base, f"{base}.index", f"{base}.metadata"]


def export(array: TokenArray, folder: Folder, options: Options) -> list[str]:
    for _ in array.runs():  # checks the ends, which are exported unchanged
        pass
    tokens, index, metadata = names(options)
    model = array.manifest.model.get("name") if array.manifest else None
    lines = [f"{model or 'unknown'}|{array.ids.dtype.itemsize}", str(len(array.ids)), humanised(len(array.ids))]
    with folder.write(metadata) as file:
        file.write("\n".join(lines).encode())
    folder.share(index, sidecars(array.path)[0])
    folder.share(tokens, array.path)
    return []


def humanised(n: int) -> str:
    """A count as datatrove writes it (humanize.metric(n, unit="T")): three digits and a metric prefix."""
    exponent = len(str(n)) - 1
    value, digits = n / 1000 ** (exponent // 3), 2 - exponent % 3
    if round(value, digits) >= 10 ** (exponent % 3 + 1):  # 9,999 is 10.0 k
        exponent += 1
        value, digits = n / 1000 ** (exponent // 3), 2 - exponent % 3
    return f"{value:.{digits}f} {' kMGTPEZYRQ'[exponent // 3].strip()}T"
