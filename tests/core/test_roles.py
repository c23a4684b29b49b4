"""Roles: their names, what their files say, and that a repository's file gives nothing."""

from __future__ import annotations

from importlib import resources
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import roles
from windlass.core.errors import ConfigError, UserError
from windlass.core.ids import RoleName, role_name, with_article
from windlass.core.roles import WIDER, RoleFile, Traits

REVIEWER = RoleName("reviewer")
SAID = st.sampled_from([None, True, False])
TRAITS = st.fixed_dictionaries(dict.fromkeys(WIDER, SAID))


def a_file(said: dict[str, Any]) -> RoleFile:
    """A file that says this about its role."""
    return RoleFile(prompt="p", **said)


FILES = TRAITS.map(a_file)


def shipped(name: str) -> RoleFile:
    text = (resources.files("windlass.data") / "roles" / f"{name}.md").read_text("utf-8")
    return roles.parse(text, origin=name)


def test_every_file_that_is_shipped_is_a_role_or_everybodys() -> None:
    files = (resources.files("windlass.data") / "roles").iterdir()
    names = {file.name for file in files if file.name.endswith(".md")}
    assert names == {
        f"{name}.md" for name in (roles.EVERYBODY, roles.LOOP_SUPERVISOR, *roles.SHIPPED)
    }


def test_managers_start_agents_and_workers_do_not() -> None:
    made = {
        name: roles.define(name, shipped=shipped(name), configured=Traits(), file=None).role
        for name in roles.SHIPPED
    }
    manager, worker = made[roles.MANAGER], made[roles.WORKER]
    assert (manager.spawns, manager.persistent, manager.readonly) == (True, False, False)
    assert (worker.spawns, worker.persistent, worker.readonly) == (False, False, False)
    assert "splits work" in manager.about


@pytest.mark.parametrize("name", ["reviewer", "a", "code-reviewer-2", "x" * 32])
def test_small_letters_digits_and_dashes_make_a_name(name: str) -> None:
    assert role_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "Reviewer", "2nd", "-a", "a_b", "a.b", "a/b", "a b", "é", "x" * 33, "a\n"),
        *("all", "user", "parent", "children", "windlass", "none", "self", "person", "msg-1"),
    ],
)
def test_other_names_are_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(UserError) as refused:
        role_name(name)
    assert repr(name) in refused.value.message
    assert refused.value.hint


def test_a_role_has_its_article() -> None:
    assert [with_article(name) for name in ("worker", "auditor")] == ["a worker", "an auditor"]


def test_the_file_of_a_role_says_what_it_is() -> None:
    text = "---\ndescription: looks for faults\nreadonly: true\nreplace: true\n---\nLook.\n"
    assert roles.parse(text, origin="x") == RoleFile(
        prompt="Look.\n", description="looks for faults", readonly=True, replace=True
    )


@pytest.mark.parametrize("key", ["spawns", "replace"])
def test_the_file_for_everybody_says_nothing_about_a_role(key: str) -> None:
    with pytest.raises(ConfigError, match=rf"all\.md:2: unknown key '{key}'"):
        roles.parse_for_everybody(f"---\n{key}: true\n---\n", origin="all.md")


@given(st.none() | FILES, TRAITS, FILES)
def test_a_repositorys_file_gives_a_role_nothing(
    ours: RoleFile | None, said: dict[str, bool | None], theirs: RoleFile
) -> None:
    configured = Traits(**said)
    without = roles.define(REVIEWER, shipped=ours, configured=configured, file=None)
    role, withheld = roles.define(REVIEWER, shipped=ours, configured=configured, file=theirs)
    assert without.withheld == ()
    for trait, wider in WIDER.items():
        before, asked, now = (getattr(one, trait) for one in (without.role, theirs, role))
        assert before in (now, wider), "it took away, or changed nothing"
        assert (trait in withheld) == (asked == wider and before != wider)
        if asked is not None and asked != wider:
            assert now == asked, "what it takes away is gone"


@given(st.none() | FILES, TRAITS)
def test_the_configuration_goes_before_the_shipped_file(
    ours: RoleFile | None, said: dict[str, bool | None]
) -> None:
    role = roles.define(REVIEWER, shipped=ours, configured=Traits(**said), file=None).role
    for trait in WIDER:
        usual = getattr(ours, trait, None) or False
        assert getattr(role, trait) == (usual if said[trait] is None else said[trait])


def test_a_new_name_is_a_role_that_may_do_nothing_more() -> None:
    for trait, wider in product(WIDER, (True, False)):
        file = a_file({trait: wider})
        role = roles.define(REVIEWER, shipped=None, configured=Traits(), file=file).role
        assert not role.spawns
        assert not role.persistent
