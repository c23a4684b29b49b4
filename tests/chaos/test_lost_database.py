"""The database is lost in every way, under a living daemon and a dead one: every agent is back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.ground import Ground, until

pytestmark = pytest.mark.slow

STAY = {"text": "WAITING"}


def delete(path: Path, _old: Path) -> None:
    path.unlink()


def delete_all(path: Path, _old: Path) -> None:
    for file in path.parent.glob("windlass.db*"):
        file.unlink()


def move(path: Path, _old: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def truncate(path: Path, _old: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def empty(path: Path, _old: Path) -> None:
    path.write_bytes(b"")


def spoil(path: Path, _old: Path) -> None:
    path.write_bytes(b"garbage " * 5000)


def put_old_over(path: Path, old: Path) -> None:
    shutil.copyfile(old, path)
    path.with_name(f"{path.name}-wal").unlink(missing_ok=True)


def put_old_in_place(path: Path, old: Path) -> None:
    fresh = path.with_name("fresh")
    shutil.copyfile(old, fresh)
    fresh.rename(path)
    path.with_name(f"{path.name}-wal").unlink(missing_ok=True)


WAYS = (delete, delete_all, move, truncate, empty, spoil, put_old_over, put_old_in_place)
QUICK = (("delete_all", "dead"), ("put_old_over", "alive"))
CASES = [
    pytest.param(
        way,
        daemon,
        copied,
        id=f"{way.__name__}-{daemon}-{'copied' if copied else 'never copied'}",
        marks=()
        if (way.__name__, daemon) in QUICK and copied == (daemon == "alive")
        else pytest.mark.soak,
    )
    for way in WAYS
    for daemon in ("dead", "alive")
    for copied in (True, False)
    if copied or not way.__name__.startswith("put_old")
]


class Crew:
    """Agents of every kind, some of them from after the last copy of the database."""

    def __init__(self, ground: Ground, *, copied: bool) -> None:
        self.ground = ground
        self.database = ground.state / "windlass.db"
        self.old = ground.folder / "old.db"
        ground.new("early", STAY)
        ground.new("gone", STAY)
        ground.wait("early", "gone", states="waiting,complete,stopped")
        if copied:
            self._copy()
        ground.wl("kill", "gone", "--force").ok()
        ground.new("late", STAY)
        ground.new("paused", STAY)
        ground.wait("late", "paused", states="waiting,complete,stopped")
        ground.wl("pause", "paused").ok()
        self.before = self.crew()

    def is_back(self) -> bool:
        """Whether everybody is as they were."""
        now = self.crew()
        return now.keys() - {"refused"} == self.before.keys() and all(
            now[name] == was for name, was in self.before.items()
        )

    def _copy(self) -> None:
        """Has the daily copy made, by a daemon that starts: nothing waits for its hour."""
        daemon = self.ground.daemon_pid()
        assert daemon is not None
        until(
            lambda: bool(list((self.ground.state / "backups").glob("*.db"))),
            within=30,
            what="the daily copy",
        )
        (copy,) = (self.ground.state / "backups").glob("*.db")
        shutil.copyfile(copy, self.old)

    def crew(self) -> dict[str, tuple[str, str, int | None]]:
        """Who lives: where, in which state, and in which process."""
        return {
            agent["id"]: (
                agent["workspace"],
                agent["state"],
                self.ground.ask("info", agent=agent["id"])["pid"],
            )
            for agent in self.ground.agents()
        }


@pytest.mark.parametrize(("lose", "daemon", "copied"), CASES)
def test_every_agent_is_back_after_the_database_was_lost(
    ground: Ground, lose: Callable[[Path, Path], None], daemon: str, *, copied: bool
) -> None:
    if copied:
        ground.env["WINDLASS_CLOCK_SCALE"] = "60"
    crew = Crew(ground, copied=copied)
    living = ground.living_daemon()
    assert living is not None
    if daemon == "dead":
        ground.kill_daemon()
    lose(crew.database, crew.old)
    if daemon == "alive":
        refused = ground.wl("new", "--driver", "standin", "--name", "refused", "x")
        assert refused.code in (0, 6), "done by a daemon that came after, or not at all"
        living.wait(timeout=20)
    until(crew.is_back, what=f"that crew, of which is back {crew.crew()}")
    ground.wl("send", "early", "hello").ok()
    ground.wl("kill", "late", "--force").ok()
    ground.wl("resume", "paused").ok()
    assert set(crew.crew()) - {"refused"} == {"early", "paused"}


@pytest.mark.soak
@pytest.mark.parametrize("daemon", ["dead", "alive"])
def test_agents_of_whom_nothing_was_kept_are_named_and_taken_in(
    ground: Ground, daemon: str
) -> None:
    config = ground.state / "config.toml"
    config.write_text('driver = "standin"\n' + config.read_text())
    crew = Crew(ground, copied=False)
    living = ground.living_daemon()
    assert living is not None
    if daemon == "dead":
        ground.kill_daemon()
    shutil.rmtree(ground.state / "crew")
    delete_all(crew.database, crew.old)
    if daemon == "alive":
        living.wait(timeout=20)
        shutil.rmtree(ground.state / "backups")
    ground.wl("init").ok()
    assert crew.crew() == {}
    named = {orphan["subject"] for orphan in ground.wl("doctor", "--json").json()["orphans"]}
    assert named == {workspace for workspace, _, _ in crew.before.values()}
    mended = ground.wl("repair", "--json").ok().json()
    assert {orphan["subject"] for orphan in mended if orphan["done"]} == named
    before, after = crew.before, crew.crew()
    assert after.keys() == before.keys()
    assert after["early"][2] == before["early"][2], "its session goes on"
    assert ground.wl("repair", "--json").ok().json() == []
    ground.wl("nuke", "--force").ok()
    assert crew.crew() == {}
