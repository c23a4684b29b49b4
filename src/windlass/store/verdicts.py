"""Rows of verdicts: added, and found by everything that they depend on."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import msgspec
import sqlalchemy as sa

from windlass.core.gate.verdicts import Verdict
from windlass.core.ids import RepoId
from windlass.store import records
from windlass.store import tables as t
from windlass.store.store import Writing

_V = t.verdicts.c


class VerdictKey(NamedTuple):
    """What a verdict is looked up by."""

    repo: RepoId
    tree: str
    check_key: str
    layer: str
    box: str
    versions: str


def add(writing: Writing, verdict: Verdict) -> Verdict:
    """Writes a new verdict; returns it with its number."""
    values = records.stored(msgspec.structs.asdict(verdict))
    del values["id"]
    done = writing.connection.execute(sa.insert(t.verdicts).values(values))
    number = done.inserted_primary_key
    if number is None:  # every dialect that we support returns the key
        raise AssertionError(verdict)
    return msgspec.structs.replace(verdict, id=number[0])


def green(connection: sa.Connection, key: VerdictKey) -> Verdict | None:
    """The newest green verdict under exactly these circumstances."""
    query = _of(key).where(_V.outcome == "passed").order_by(_V.id.desc()).limit(1)
    found = records.every(Verdict, connection, query)
    return found[0] if found else None


def newest(connection: sa.Connection, key: VerdictKey) -> Verdict | None:
    """The newest verdict under exactly these circumstances, whatever it says."""
    found = records.every(Verdict, connection, _of(key).order_by(_V.id.desc()).limit(1))
    return found[0] if found else None


def newest_not_green(connection: sa.Connection, repo: RepoId, tree: str) -> Verdict | None:
    """The newest verdict of a tree that is not green, of whichever check."""
    of_tree = (_V.repo == repo, _V.tree == tree, _V.outcome != "passed")
    query = sa.select(t.verdicts).where(*of_tree).order_by(_V.id.desc()).limit(1)
    found = records.every(Verdict, connection, query)
    return found[0] if found else None


def of_trees(
    connection: sa.Connection, repo: RepoId, trees: Collection[str]
) -> dict[str, dict[str, Verdict]]:
    """The newest verdict of each check that judged some trees, whatever it depended on."""
    query = sa.select(t.verdicts).where(_V.repo == repo, _V.tree.in_(sorted(trees)))
    found: dict[str, dict[str, Verdict]] = {}
    for verdict in records.every(Verdict, connection, query.order_by(_V.id)):
        found.setdefault(verdict.tree, {})[verdict.check] = verdict
    return found


def by_number(connection: sa.Connection, number: int) -> Verdict | None:
    """One verdict."""
    found = records.every(Verdict, connection, sa.select(t.verdicts).where(_V.id == number))
    return found[0] if found else None


def last_green_seconds(connection: sa.Connection, repo: RepoId, check_key: str) -> float | None:
    """How long a check took when it was green last, for any tree."""
    query = sa.select(_V.seconds).where(
        _V.repo == repo, _V.check_key == check_key, _V.outcome == "passed"
    )
    return connection.execute(query.order_by(_V.id.desc()).limit(1)).scalar()


def _of(key: VerdictKey) -> sa.Select[tuple[Verdict]]:
    conditions = (getattr(_V, name) == value for name, value in key._asdict().items())
    return sa.select(t.verdicts).where(*conditions)
