"""What every event is: data with a kind, how the log holds it, and how it is read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform

import msgspec

from windlass.core import shapes


class _Catalogued(msgspec.StructMeta):
    """Makes the structs of events: made by keyword, and with the kind that each declares."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], fields: dict[str, Any], *, kind: str, **config: Any
    ) -> Any:
        struct: Any = super().__new__(cls, name, bases, fields, kw_only=True, **config)
        struct.kind = kind
        return struct


@dataclass_transform(kw_only_default=True, frozen_default=True)
class EventData(msgspec.Struct, metaclass=_Catalogued, kind="", frozen=True, omit_defaults=True):
    """What one event says, beyond when and where it happened."""

    kind: ClassVar[str]

    def written(self) -> tuple[str, dict[str, Any]]:
        """The kind and the data, as the log holds them."""
        return self.kind, msgspec.to_builtins(self)

    def subject(self) -> str | None:
        """What it is about by its own data: `message:` and an id; None where that is not in it."""
        return None

    @classmethod
    def fields_of(cls, event: Logged) -> Mapping[str, Any]:
        """The fields of this struct, as an event in the log has them."""
        return event.data


class Logged(Protocol):
    """An event as the log has it."""

    @property
    def kind(self) -> str:
        """The name of its kind."""

    @property
    def data(self) -> dict[str, Any]:
        """What it carries."""


E = TypeVar("E", bound=EventData)


def read(struct: type[E], event: Logged) -> E:
    """The data of an event that is known to be of the kind of this struct."""
    return shapes.convert(struct.fields_of(event), struct)
