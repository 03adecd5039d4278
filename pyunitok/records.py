"""Records: dataclasses of which no method is compiled at import, for the modules that every run imports.

@dataclass writes the source text of up to six methods and compiles it, about half a millisecond for each class: a
quarter of what a run over one small file spent before it read anything. Of a record only the names and defaults are
looked at; the methods are the same for all classes. Otherwise it is a dataclass: fields(), replace() and asdict() take
it.

    @record(frozen=True)
    class LeftOut:
        path: str
        why: str = "hidden"
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError
from typing import TYPE_CHECKING, Any

__all__ = ["record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record  # all that mypy needs to know
else:
    from dataclasses import dataclass

    def record(*, frozen=False, eq=True):
        """As @dataclass, for classes without __post_init__, __slots__ and ClassVar, all of whose fields go to
        __init__."""

        def decorate(cls):
            cls.__own_fields__ = {name: vars(cls).get(name, MISSING) for name in cls.__annotations__}
            cls.__dataclass_fields__ = _Fields(cls)
            cls.__init__ = _init_of(cls)
            cls.__repr__ = _repr
            cls.__signature__ = _Signature()
            if eq:
                cls.__eq__ = _eq
                cls.__hash__ = _hash if frozen else None
            if frozen:
                cls.__setattr__ = _refuse_to_set
                cls.__delattr__ = _refuse_to_delete
            return cls

        return decorate

    class _Fields:
        """What fields(), replace() and asdict() look at: made by @dataclass when one of them first asks."""

        def __init__(self, cls):
            self._class = cls

        def __get__(self, instance, asked):
            cls, fields = self._class, {}
            for base in reversed(cls.__bases__):
                fields |= getattr(base, "__dataclass_fields__", {})
            given = {name: default for name, default in cls.__own_fields__.items() if default is not MISSING}
            like = type(cls.__name__, (), {"__module__": cls.__module__, "__doc__": cls.__name__, **given})
            like.__annotations__ = cls.__annotations__
            fields |= dataclass(init=False, repr=False, eq=False)(like).__dataclass_fields__
            cls.__dataclass_fields__ = fields
            return fields

    def _init_of(cls):
        fields, defaults, factories = {}, {}, {}
        for kind in reversed(cls.__mro__):
            fields |= vars(kind).get("__own_fields__", {})
        for name, default in fields.items():
            if isinstance(default, Field):
                if default.default_factory is not MISSING:
                    factories[name] = default.default_factory
                default = default.default
            if default is not MISSING:
                defaults[name] = default

        def __init__(self, /, *values, **named):
            given = dict(zip(fields, values, strict=False), **named)
            every = {**defaults, **given}
            for name, factory in factories.items():
                if name not in every:
                    every[name] = factory()
            if every.keys() != fields.keys() or len(given) < len(values) + len(named):
                shown = ", ".join([*map(repr, values), *(f"{name}={value!r}" for name, value in named.items())])
                raise TypeError(f"{cls.__name__}{cls.__signature__} was called with ({shown})")
            self.__dict__.update(every)  # not by setattr, which a frozen record refuses

        return __init__


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name, f in self.__dataclass_fields__.items() if f.compare])


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, f in self.__dataclass_fields__.items() if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


class _Signature:
    """Of the class that has it, for help() and inspect.signature(), computed when one of them asks."""

    def __get__(self, instance: object, cls: Any) -> Any:
        from inspect import Parameter, Signature

        def parameter(field: Any) -> Parameter:
            is_required = field.default is MISSING and field.default_factory is MISSING
            default = Parameter.empty if is_required else ... if field.default is MISSING else field.default
            return Parameter(field.name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=field.type)

        return Signature([parameter(field) for field in cls.__dataclass_fields__.values()])
