"""Trainer options. Each declaration defines a keyword of train(), its checks, the command-line option and the help.

    @dataclass
    class Options:
        max_words: int = option(4, "Maximum words in a piece.", least=1)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from typing import Any, NamedTuple, TypeVar

from pyunitok.errors import OptionError

T = TypeVar("T")


class Option(NamedTuple):
    """An option of the command line.

    type      bool, int, float or str; a tuple of choices; or a function that parses the argument or raises ValueError
    default   None: pass the option to the trainer only if it is given
    least     the minimum of a number; `most` is the maximum
    section   the help section; "": the first section
    flag      the name on the command line, if different
    collect   combines the values of a repeated option; None: not repeatable
    is_pair   for bool: --no-NAME exists, too
    is_hidden omit it from the help, because it has no effect
    """

    name: str
    help: str
    type: Any = str
    default: Any = None
    section: str = ""
    least: int | None = None
    most: int | None = None
    flag: str = ""
    metavar: str | None = None
    collect: Callable[[Any], Any] | None = None
    is_pair: bool = False
    is_hidden: bool = False

    def check(self, value: Any) -> None:
        """Raise OptionError if the value is invalid."""
        if isinstance(self.type, tuple) and value is not None and value not in self.type:
            raise OptionError(f"{self.name} must be one of {', '.join(self.type)}, not {value!r}")
        if self.most is not None and not (self.least or 0) <= value <= self.most:
            raise OptionError(f"{self.name} is {value}; it must be within {self.least or 0}..{self.most}")
        if self.least is not None and value < self.least:
            raise OptionError(f"{self.name} is {value}; it must be at least {self.least}")


def option(default: Any, help: str, **more: Any) -> Any:
    """A dataclass field that declares an option."""
    if "type" not in more:
        more["type"] = type(default)
    return field(default=default, metadata={"option": Option("", help, default=default, **more)})


def options_of(record: Any) -> list[Option]:
    """The options among the fields of a dataclass."""
    return [item.metadata["option"]._replace(name=item.name) for item in fields(record) if item.metadata]


def check(options: Iterable[Option], given: Mapping[str, Any]) -> None:
    """Raise OptionError, which names the first invalid value."""
    for item in options:
        if item.name in given:
            item.check(given[item.name])


def read(record: Callable[..., T], given: Mapping[str, Any], title: str) -> T:
    """Make the record from these keywords. Raises OptionError if a keyword is unknown or a value is invalid; `title`
    names the models in the message."""
    if unknown := sorted(given.keys() - {item.name for item in fields(record)}):  # type: ignore[arg-type]
        raise OptionError(f"there is no option {unknown[0]} for {title} models")
    check(options_of(record), given)
    return record(**given)
