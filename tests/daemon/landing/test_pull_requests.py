"""Behind a protected branch what is proven becomes a pull request, and has landed once it is in."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.daemon.gate import gate_ground
from tests.daemon.gate.gate_ground import CODE, GATE
from tests.daemon.landing.upstream_ground import UpstreamGround

from windlass.daemon.kernel.context import Context

GH = r'''#!/usr/bin/env python3
"""Stands in for GitHub's gh: answers as that does, and records what it was asked."""
import json, os, sys
home = os.path.dirname(os.path.abspath(__file__))
kept = os.path.join(home, "kept.json")
requests = json.load(open(kept)) if os.path.exists(kept) else []
words = sys.argv[1:]
given = dict(zip(words, words[1:]))
with open(os.path.join(home, "calls"), "a") as calls:
    calls.write(json.dumps(words) + "\n")
if os.path.exists(os.path.join(home, "broken")):
    sys.exit("gh: To get started with GitHub CLI, please run:  gh auth login")
if words[:2] == ["pr", "list"]:
    mine = [r for r in requests if r["head"] == given["--head"] and r["state"] == "OPEN"]
    print(json.dumps(mine))
elif words[:2] == ["pr", "create"]:
    made = {"number": len(requests) + 7, "state": "OPEN", "head": given["--head"],
            "title": given["--title"], "body": sys.stdin.read(), "base": given["--base"]}
    made["url"] = "https://github.example/ann/shop/pull/%d" % made["number"]
    json.dump([*requests, made], open(kept, "w"))
    print(made["url"])
elif words[:2] == ["pr", "view"]:
    (found,) = [r for r in requests if str(r["number"]) == words[2]]
    print(json.dumps(found))
'''


class Forge:
    """The folder of the stand-in, which is on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "gh").write_text(GH)
        (folder / "gh").chmod(0o755)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The pull requests that there are."""
        kept = self.folder / "kept.json"
        return json.loads(kept.read_text()) if kept.exists() else []

    @property
    def calls(self) -> list[list[str]]:
        """What it was asked."""
        calls = self.folder / "calls"
        return [json.loads(line) for line in calls.read_text().splitlines()]

    def close(self, state: str) -> None:
        """Has every pull request be closed, or merged."""
        changed = [{**request, "state": state} for request in self.requests]
        (self.folder / "kept.json").write_text(json.dumps(changed))


@pytest.fixture
def ground(context: Context, tmp_path: Path) -> UpstreamGround:
    """Its remote lets nobody push to main."""
    (tmp_path / "home").mkdir()
    files = {**CODE, ".windlass/config.toml": GATE}
    made = gate_ground.make_as(UpstreamGround, context, tmp_path / "shop", files)
    made.begin_remote("pr")
    address = "https://ann:secret@github.example/ann/shop.git"
    made.git("remote", "set-url", "origin", address)
    made.git("config", f"url.{made.bare}.insteadOf", address)
    made.refuse()
    return made


@pytest.fixture
def gh(ground: UpstreamGround, tmp_path: Path) -> Forge:
    """A `gh` of ours, in front of any other."""
    forge = Forge(tmp_path / "gh")
    ground.programs_of_forges = f"{forge.folder}:{os.environ['PATH']}"
    return forge


def merge_there(ground: UpstreamGround, branch: str, *how: str) -> str:
    """Somebody merges a branch of the remote's, which the hook lets a person do."""
    (ground.bare / "hooks" / "update").unlink(missing_ok=True)
    other = ground.root.parent / "other"
    ground.git("clone", "-q", str(ground.bare), str(other))
    who = ("-c", "user.name=Bob", "-c", "user.email=bob@example.org", "-C", str(other))
    ground.git(*who, "merge", "-q", *(how or ("--no-ff",)), "-m", "merged", f"origin/{branch}")
    if "--squash" in how:
        ground.git(*who, "commit", "-q", "-m", "squashed")
    ground.git(*who, "push", "-q", "origin", "main")
    return ground.remote("rev-parse", "main")


def test_what_is_proven_is_pushed_and_a_pull_request_opened(
    gh: Forge, ground: UpstreamGround
) -> None:
    """With title, summary and verdict; main stays, here and there, until somebody merges it."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    before = ground.remote("rev-parse", "main")
    name = ground.submit("mine", title="More of it")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "proposed", shown
    (request,) = gh.requests
    assert request["url"] in shown["why"]
    assert (request["base"], request["head"]) == ("main", "windlass/c1")
    assert request["title"] == "More of it"
    tree = ground.remote("rev-parse", "windlass/c1^{tree}")
    assert f"The gate passed for the tree {tree}" in request["body"]
    assert ground.prove(tree)["cached"] is True
    assert ground.remote("rev-parse", "main") == before == ground.git("rev-parse", "main")
    assert all(call[-2:] == ["--repo", "github.example/ann/shop"] for call in gh.calls)
    assert "secret" not in json.dumps([gh.calls, shown, gh.requests])


@pytest.mark.usefixtures("gh")
def test_it_has_landed_once_the_upstream_contains_it(ground: UpstreamGround) -> None:
    """Then the branch here goes along; before, it is looked at again and again."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    assert ground.wake("landing.request")
    ground.settle()
    assert ground.change(name)["state"] == "proposed"
    merged = merge_there(ground, "windlass/c1")
    assert ground.wake("landing.request")
    ground.settle()
    assert ground.change(name)["state"] == "landed"
    assert ground.git("rev-parse", "main") == merged
    assert (ground.root / "more.py").read_text() == "more = 1\n"
    assert not ground.wake("landing.request")


@pytest.mark.usefixtures("gh")
def test_squashed_it_has_landed_as_well(ground: UpstreamGround) -> None:
    """What counts is that the upstream has all of it."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    merged = merge_there(ground, "windlass/c1", "--squash")
    assert ground.wake("landing.request")
    ground.settle()
    shown = ground.change(name)
    assert (shown["state"], shown["commit"]) == ("landed", merged)


def test_what_needs_another_lands_after_its_pull_request_is_merged(
    gh: Forge, ground: UpstreamGround
) -> None:
    """Until then it waits; nothing of it is pushed."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.commit({"top.py": "top = 1\n"}, branch="top")
    base = ground.submit("mine")
    ground.settle()
    ground.submit("top", needs=[base])
    ground.settle()
    assert ground.states() == {"mine": "proposed", "top": "held"}
    merge_there(ground, "windlass/c1")
    ground.wake("landing.request")
    ground.settle()
    assert ground.states() == {"mine": "landed", "top": "proposed"}
    assert [request["head"] for request in gh.requests] == ["windlass/c1", "windlass/c2"]


def test_closed_it_is_held_and_the_person_hears_of_it(gh: Forge, ground: UpstreamGround) -> None:
    """Proposed again, it has another one."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    gh.close("CLOSED")
    ground.wake("landing.request")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "held"
    assert "closed without being merged" in shown["why"]
    assert any("closed without being merged" in text for text in ground.notices())
    ground.submit("mine")
    ground.settle()
    assert ground.change(name)["state"] == "proposed"
    assert [request["state"] for request in gh.requests] == ["CLOSED", "OPEN"]


def test_a_next_revision_has_the_same_branch_and_the_same_pull_request(
    gh: Forge, ground: UpstreamGround
) -> None:
    """The job of the one before is over."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    first = ground.remote("rev-parse", "windlass/c1")
    ground.commit({"more.py": "more = 2\n"}, branch="mine")
    assert ground.submit("mine") == name
    ground.settle()
    assert ground.change(name)["state"] == "proposed"
    assert ground.remote("rev-parse", "windlass/c1") != first
    assert len(gh.requests) == 1
    ground.wake("landing.request")
    ground.settle()
    assert len(ground.open_jobs("landing.request")) == 1


def test_without_gh_the_address_is_printed(ground: UpstreamGround) -> None:
    """It has landed all the same once the upstream contains it."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    why = ground.change(name)["why"]
    assert "https://github.example/ann/shop/compare/main...windlass/c1?expand=1" in why
    assert "gh is not on PATH" in why
    assert "secret" not in why
    merge_there(ground, "windlass/c1")
    ground.wake("landing.request")
    ground.settle()
    assert ground.change(name)["state"] == "landed"


def test_a_gh_that_fails_is_no_failure_of_the_landing(gh: Forge, ground: UpstreamGround) -> None:
    """What it said stands beside the address."""
    (gh.folder / "broken").touch()
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "proposed"
    assert "compare/main...windlass/c1" in shown["why"]
    assert "gh auth login" in shown["why"]


@pytest.mark.usefixtures("gh")
def test_dropped_it_is_waited_for_no_more(ground: UpstreamGround) -> None:
    """The pull request is left to whoever looks after the forge."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    ground.judge("drop", name)
    ground.wake("landing.request")
    ground.settle()
    assert ground.states() == {"mine": "dropped"}
    assert ground.open_jobs("landing.request") == []
