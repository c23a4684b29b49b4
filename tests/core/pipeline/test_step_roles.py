"""The roles of steps give the results that the ancestors' did, and each voice about them counts."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest

from windlass.core import roles
from windlass.core.config_roles import RoleSettings
from windlass.core.errors import ConfigError
from windlass.core.ids import RoleName
from windlass.core.pipeline import engine, step_roles, steps
from windlass.core.pipeline.step_roles import StepRole
from windlass.core.pipeline.steps import Pipeline, Step
from windlass.core.roles import STEPS, RoleFile

FOLDER = resources.files("windlass.data") / "roles" / "steps"


def shipped(name: str) -> RoleFile:
    return roles.parse((FOLDER / f"{name}.md").read_text("utf-8"), origin=name)


def defined(name: str, text: str = "", **configured: Any) -> StepRole:
    return step_roles.define(
        RoleName(name),
        shipped=shipped(name) if name in STEPS else None,
        file=roles.parse(text, origin="own") if text else None,
        configured=RoleSettings(**configured),
    )


def test_each_role_of_a_step_has_a_file_and_each_file_is_one() -> None:
    assert {file.name for file in FOLDER.iterdir()} == {f"{name}.md" for name in STEPS}


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("security-audit", "PASS FIX FAIL"),
        ("security-fix", "PASS FIX FAIL"),
        ("generic-fix", "PASS FIX FAIL"),
        ("validation-review", "PASS FAIL"),
        ("test-coverage", "PASS FIX FAIL SKIP"),
        ("plan-mode", "PASS FAIL"),
    ],
)
def test_what_the_ancestor_wrote_down_is_what_they_may_give(name: str, results: str) -> None:
    assert " ".join(defined(name).results) == results
    assert f"<result>{results.replace(' ', '|')}</result>" in shipped(name).prompt


@pytest.mark.parametrize("name", STEPS)
def test_each_says_all_of_itself_and_asks_for_its_results_alone(name: str) -> None:
    said, role = shipped(name), defined(name)
    assert {*said.step} >= {"results", "mode", "iterations", "turns", "timeout"}
    assert said.readonly is not None
    assert f"<result>{'|'.join(role.results)}</result>" in said.prompt
    assert (role.mode == "loop") == (role.iterations > 1)
    assert not (role.mode == "loop" and role.readonly)


def test_results_mean_what_they_meant_for_the_ancestor() -> None:
    meant = {
        result: (mapping.status, mapping.exit_code, mapping.jump)
        for result, mapping in defined("security-audit").mappings.items()
    }
    assert meant == {
        "PASS": ("success", 0, "next"),
        "FAIL": ("failure", 10, "abort"),
        "FIX": ("partial", 0, "prev"),
        "SKIP": ("success", 0, "next"),
    }


def test_the_configuration_goes_before_the_repositorys_file_and_that_before_ours() -> None:
    own = "---\nturns: 7\niterations: 8\nreadonly: false\nFIX: odd 3 self\n---\nmore"
    role = defined("security-audit", own, turns=9, mode="live")
    assert (role.turns, role.iterations, role.mode, role.timeout) == (9, 8, "live", 3600)
    assert role.readonly, "a repository's file takes away and never gives"
    assert not defined("security-audit", readonly=False).readonly
    assert defined("reviewer", "---\nreadonly: true\n---\n", readonly=False).readonly
    assert role.mappings["FIX"].jump == "self"
    assert role.mappings["PASS"].jump == "next"


def test_a_role_of_ones_own_may_give_everything_until_it_says_otherwise() -> None:
    assert defined("reviewer", "text").results == ("PASS", "FAIL", "FIX", "SKIP")
    assert defined("reviewer", "---\nresults: PASS, SKIP\n---\n").results == ("PASS", "SKIP")


def test_what_a_role_says_of_a_result_leads_a_run_unless_its_pipeline_says_more() -> None:
    line = (Step(id="a", agent="odd"), Step(id="b", agent="odd"))
    mappings = {"odd": defined("odd", "---\nFAIL: failure 10 next\n---\n").mappings}
    pipeline = steps.with_roles(Pipeline(name="p", steps=line), mappings)
    assert engine.advance(pipeline, engine.start(pipeline), "FAIL").step == "b"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("results: PASS, GOOD", "results are 'PASS, GOOD'"),
        ("results: PASS, PASS", "results are"),
        ("results: UNKNOWN", "results are 'UNKNOWN'"),
        ("results:", "results are ''"),
        ("mode: twice", "mode is 'twice'"),
        ("turns: 0", "turns is 0"),
        ("FIX: partial prev", "FIX means 'partial prev'"),
        ("FIX: partial 256 prev", "FIX means"),
        (f"FIX: {'partial' * 99} 0 prev", "FIX means"),
        ("FIX: partial 0 audit", "FIX means"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(line: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        defined("own", f"---\n{line}\n---\n")
    assert refused.value.hint


@pytest.mark.parametrize("line", ["turns: many", "turns: -1", "turns: 1.5", "turns:"])
def test_a_number_is_one(line: str) -> None:
    with pytest.raises(ConfigError, match="own:2: turns is"):
        defined("own", f"---\n{line}\n---\n")
