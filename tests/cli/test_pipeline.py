"""`wl pipeline` and `wl dev lifecycle` answer for files that they have never seen."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from windlass.cli.main import main
from windlass.core.errors import NotFound, UserError
from windlass.core.pipeline import spec
from windlass.project import pipelines

ODD: dict[str, Any] = {
    "name": "odd",
    "steps": [
        {
            "id": "a", "agent": "whoever", "max": 2,
            "on_result": {
                "FIX": {
                    "id": "mend", "agent": "x", "max": 1, "on_max": "prev",
                    "on_result": {"FAIL": {"jump": "abort"}, "SKIP": {"jump": "c"}},
                },
            },
        },
        {"id": "b", "agent": "y", "enabled_by": "B", "on_max": "a"},
        {
            "id": "c", "agent": "z", "max": 1, "on_max": "abort",
            "on_result": {"FAIL": {"jump": "a"}, "FIX": {"jump": "self"}},
        },
    ],
    "result_mappings": {"UNKNOWN": {"default_jump": "next"}},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINDLASS_HOME", str(tmp_path / "state"))


def data(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    ended = main([*words, "--json"])
    out, err = capsys.readouterr()
    assert ended == code, (out, err)
    assert "nobody foresaw" not in err
    return json.loads(out or err)


@pytest.mark.parametrize(
    ("results", "visited", "outcome"),
    [
        ("", "a b c", "success"),
        ("a=FIX,mend=SKIP", "a a:mend c", "success"),
        ("a=FIX,mend=FAIL", "a a:mend", "abort"),
        ("a=FIX,mend=FIX", "a a:mend a b c", "success"),
        ("a=FIX,a=FIX", "a a:mend a b c", "success"),
        ("c=FAIL", "a b c a b", "abort"),
        ("c=FIX", "a b c", "abort"),
        ("a=UNKNOWN,b=FIX", "a b a b c", "success"),
        ("a=FAIL", "a", "abort"),
        ("b=FIX,b=FIX,b=FIX", "a b a b b", "abort"),
    ],
)
def test_simulate_says_the_path(
    results: str, visited: str, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("odd.json").write_text(json.dumps(ODD))
    words = ("pipeline", "simulate", "odd.json", "--results", results, "--enable", "B")
    reply = data(capsys, *words)
    assert (" ".join(reply["visited"]), reply["outcome"]) == (visited, outcome)
    assert {*reply} == {"visited", "outcome", "reason"}
    assert reply["reason"]


def test_a_step_is_passed_over_unless_its_variable_is_true(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("odd.json").write_text(json.dumps(ODD))
    assert data(capsys, "pipeline", "simulate", "odd.json")["visited"] == ["a", "c"]


@pytest.mark.parametrize("name", ["fast", "full"])
def test_what_ships_can_be_listed_shown_drawn_and_tried(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name in [entry["name"] for entry in data(capsys, "pipeline", "list")]
    steps = [step["id"] for step in data(capsys, "pipeline", "show", name)["steps"]]
    reply = data(capsys, "pipeline", "simulate", name)
    assert (reply["visited"], reply["outcome"]) == (steps, "success")
    assert data(capsys, "pipeline", "show", name, "--svg", "out.svg")
    assert Path("out.svg").read_text().startswith("<svg ")
    assert main(["pipeline", "show", name, "--mermaid"]) == 0
    assert capsys.readouterr().out.startswith("flowchart TD\n")


def test_full_is_the_ancestors_default_with_a_fix_inside_its_audit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = "audit=FIX,audit=PASS"
    reply = data(capsys, "pipeline", "simulate", "full", "--results", results)
    assert reply["visited"] == [
        *("planning", "execution", "summary", "audit", "audit:audit-fix", "audit"),
        *("test", "docs", "validation"),
    ]


def test_a_drawing_is_never_written_over_what_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd.json").write_text(json.dumps(ODD))
    data(capsys, "pipeline", "show", "--svg", "odd.json", code=3)
    assert json.loads(Path("odd.json").read_text()) == ODD
    for _ in range(2):
        assert data(capsys, "pipeline", "show", "odd.json", "--svg", "odd.svg")["name"] == "odd"
    assert main(["pipeline", "show", "odd.json", "--svg", "-"]) == 0
    assert capsys.readouterr().out == Path("odd.svg").read_text()
    data(capsys, "pipeline", "show", "odd.json", "--svg", "no/such/folder.svg", code=2)


@pytest.mark.parametrize("text", ["", "[", "[]", '{"name": "x"}', '{"name": "x", "steps": []}'])
def test_what_is_refused_ends_with_3(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.json").write_text(text)
    data(capsys, "pipeline", "simulate", "bad.json", code=3)
    assert not data(capsys, "pipeline", "validate", "bad.json", code=3)["valid"]


def test_nesting_of_any_depth_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for depth in (3, 30, 300):
        inner = '{"id": "z", "agent": "worker"}'
        for number in range(depth):
            inner = f'{{"id": "i{number}", "agent": "worker", "on_result": {{"FIX": {inner}}}}}'
        Path("deep.json").write_text(f'{{"name": "deep", "steps": [{inner}]}}')
        (problem,) = data(capsys, "pipeline", "validate", "deep.json", code=3)["problems"]
        assert problem["path"].startswith("$.steps[0].on_result.FIX.on_result.FIX")
    Path("deep.json").write_text("[" * 100_000)
    data(capsys, "pipeline", "validate", "deep.json", code=3)


def test_so_many_steps_are_walked_and_more_are_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A run carries its pipeline through everything that becomes of it."""
    steps = [{"id": f"s{n}", "agent": "worker"} for n in range(spec.MOST_STEPS + 1)]
    Path("long.json").write_text(json.dumps({"name": "long", "steps": steps[1:]}))
    assert len(data(capsys, "pipeline", "simulate", "long.json")["visited"]) == spec.MOST_STEPS
    Path("long.json").write_text(json.dumps({"name": "long", "steps": steps}))
    (problem,) = data(capsys, "pipeline", "validate", "long.json", code=3)["problems"]
    assert problem["what"] == "there are 201 steps, and 200 is the most"
    assert problem["remedy"]


@pytest.mark.parametrize("named", ["wide.json", "-", "wide"])
def test_a_pipeline_that_no_run_could_carry_is_refused_by_its_size(
    named: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = {"name": "wide", "steps": [{"id": "a", "agent": "b", "config": {"a": "x" * 300_000}}]}
    text = json.dumps(wide)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    Path(".git").mkdir()
    Path(".windlass/pipelines").mkdir(parents=True)
    for name in ("wide.json", ".windlass/pipelines/wide.json", ".windlass/pipeline.json"):
        Path(name).write_text(text)
    error = data(capsys, "pipeline", "simulate", named, code=2)["error"]
    assert "has more than 256 KiB" in error["message"]
    assert "pipelines of their own" in error["hint"]
    with pytest.raises(UserError, match="more than 256 KiB"):
        pipelines.chosen("", str(Path(".windlass").absolute()))


REST = "  - Priority: LOW\n  - Dependencies: none\n"


def test_a_task_that_is_not_on_the_board_has_no_pipeline(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    data(capsys, "pipeline", "show", "--task", "QQ-1", code=8)
    (tmp_path / ".windlass").mkdir()
    (tmp_path / ".windlass" / "kanban.md").write_text(f"## TASKS\n- [ ] **[AA-1]** t\n{REST}")
    for words in (("--task", "QQ-1"), ("fast", "--task", "QQ-1")):
        error = data(capsys, "pipeline", "show", *words, code=8)["error"]
        assert "no task QQ-1" in error["message"]


def test_who_names_a_pipeline_that_is_not_there_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / ".windlass").mkdir()
    (tmp_path / ".windlass" / "config.toml").write_text('pipeline = "nope"\n')
    error = data(capsys, "pipeline", "show", code=8)["error"]
    assert "the configuration names it" in error["message"]


def test_a_role_that_simulate_refuses_is_wrong_to_validate_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    roles = tmp_path / ".windlass" / "roles"
    roles.mkdir(parents=True)
    (roles / "x.md").write_text("---\nturns: 0\n---\n")
    (roles / "whoever.md").write_text("---\nresults: MAYBE\n---\n")
    Path("odd.json").write_text(json.dumps(ODD))
    data(capsys, "pipeline", "simulate", "odd.json", code=3)
    found = data(capsys, "pipeline", "validate", "odd.json", code=3)["problems"]
    said = {problem["path"]: problem["what"] for problem in found}
    assert "results are 'MAYBE'" in said["$.steps[0].agent"]
    assert "turns is 0" in said["$.steps[0].on_result.FIX.agent"]


@pytest.mark.parametrize(
    ("config", "what"),
    [
        ({"iterations": "many"}, "iterations is 'many'"),
        ({"turns": True}, "turns is True"),
        ({"supervisor_interval": -1}, "supervisor_interval is -1"),
        ({"timeout": 0}, "timeout is 0"),
        ({"mode": "twice"}, "mode is 'twice'"),
    ],
)
def test_what_a_step_says_wrong_of_its_role_is_named(
    config: dict[str, Any], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever else stands in its `config` is not ours."""
    step = {"id": "a", "agent": "worker", "config": {**config, "colour": ["red"]}}
    Path("odd.json").write_text(json.dumps({"name": "odd", "steps": [step]}))
    found = data(capsys, "pipeline", "validate", "odd.json", code=3)["problems"]
    assert [problem["path"] for problem in found] == ["$.steps[0].agent"]
    assert what in found[0]["what"]


def test_all_that_an_inline_step_says_is_shown_and_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("odd.json").write_text(json.dumps(ODD))
    assert main(["pipeline", "show", "odd.json"]) == 0
    text = capsys.readouterr().out
    assert "FIX -> a:mend, x, at most 1, then prev\n           FAIL -> abort\n" in text
    assert "           SKIP -> c\n" in text
    assert main(["pipeline", "show", "odd.json", "--mermaid"]) == 0
    drawn = capsys.readouterr().out
    for line in ("x, at most 1", "s0i0 -->|FAIL| x", "s0i0 -->|SKIP| s2", "s0i0 -->|after 1| s0"):
        assert line in drawn
    assert main(["pipeline", "show", "odd.json", "--svg", "-"]) == 0
    row = "FIX: mend (x, at most 1); FAIL: abort; SKIP: c; after 1: prev"
    assert f">{row}</text>" in capsys.readouterr().out


def test_a_tasks_pipeline_is_the_nearest_one_that_somebody_chose(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / ".windlass"
    (folder / "pipelines").mkdir(parents=True)

    def why() -> str:
        found: str = data(capsys, "pipeline", "show", "--task", "AA-1")["why"]
        return found

    text = '{"name": "mine", "steps": [{"id": "only", "agent": "worker"}]}'
    (folder / "kanban.md").write_text(f"## TASKS\n- [ ] **[AA-1]** t\n{REST}")
    assert why() == "built in"
    (folder / "config.toml").write_text('pipeline = "full"\n')
    assert why() == "the configuration"
    (folder / "pipeline.json").write_text(text)
    assert why() == "pipeline.json"
    fields = f"{REST}  - Pipeline: full\n"
    (folder / "kanban.md").write_text(f"## TASKS\n- [ ] **[AA-1]** t\n{fields}")
    assert why() == "the field Pipeline of AA-1"
    (folder / "pipelines" / "AA-1.json").write_text(text)
    assert why() == "pipelines/AA-1.json"
    assert data(capsys, "pipeline", "show", "full", "--task", "AA-1")["why"] == "the command line"


def test_what_configuration_says_of_a_role_stands_beside_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / ".windlass").mkdir()
    (tmp_path / "state").mkdir()
    own, ours = tmp_path / "state" / "config.toml", tmp_path / ".windlass" / "config.toml"
    own.write_text('[roles.plan-mode]\nturns = 9\ndriver = "claude"\n')
    ours.write_text('[roles.plan-mode]\nmode = "live"\n')
    (role,) = data(capsys, "pipeline", "roles", "plan-mode")
    assert (role["turns"], role["results"]) == (40, ["PASS", "FAIL"])
    assert role["configured"] == [
        {"file": str(ours), "key": "mode", "value": "live"},
        {"file": str(own), "key": "turns", "value": 9},
    ]
    ours.write_text("[roles.plan-mode]\nturns = 2020-01-01\n")
    assert data(capsys, "pipeline", "roles", "plan-mode")[0]["configured"][0]["key"] == "turns"
    ours.write_text("roles = 3\n[x")
    data(capsys, "pipeline", "roles", "plan-mode", code=3)
    data(capsys, "pipeline", "roles", "nobody", code=8)


MACHINE: dict[str, Any] = {
    "version": 3, "description": "any", "author": "anybody",
    "states": {"idle": {"type": "initial"}, "busy": {"type": "running"}, "odd": {"type": "what"}},
    "guards": {"g": {"fn": "f", "args": {}}},
    "effects": {"one": {"fn": "f"}, "two": {"fn": "f"}},
    "transitions": [
        {"event": "go", "from": "idle", "to": "busy", "guard": "g", "effects": ["one", "two"]},
        {"event": "go", "from": "idle", "to": "odd", "chain": "mid", "kanban": " "},
        {"event": "stay", "from": "*", "to": None, "kanban": "x"},
        {"event": "lost", "from": "busy", "to": "nowhere", "guard": "unknown"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("state", "event", "guards", "reply"),
    [
        ("idle", "go", (), ("busy", None, None, ["one", "two"])),
        ("idle", "go", ("g=true",), ("busy", None, None, ["one", "two"])),
        ("idle", "go", ("g=false",), ("odd", "mid", " ", [])),
        ("busy", "stay", (), ("busy", None, "x", [])),
        ("odd", "stay", (), ("odd", None, "x", [])),
        ("busy", "lost", (), ("nowhere", None, None, [])),
        ("busy", "lost", ("unknown=false",), None),
        ("busy", "go", (), None),
        ("busy", "no-such-event", (), None),
    ],
)
def test_an_event_does_what_the_file_says_and_nothing_else_is_checked(
    state: str,
    event: str,
    guards: tuple[str, ...],
    reply: tuple[Any, ...] | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("m.json").write_text(json.dumps(MACHINE))
    asked = [word for guard in guards for word in ("--guard", guard)]
    words = ("dev", "lifecycle", "step", "m.json", "--state", state, "--event", event, *asked)
    names = ("to", "chain", "kanban", "effects")
    expected = (
        {"matched": True, **dict(zip(names, reply, strict=True))} if reply else {"matched": False}
    )
    assert data(capsys, *words) == expected


def test_an_unknown_state_is_a_mistake_and_ours_passes_its_check(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("m.json").write_text(json.dumps(MACHINE))
    data(capsys, "dev", "lifecycle", "step", "m.json", "--state", "x", "--event", "go", code=2)
    data(capsys, "dev", "lifecycle", "check", "m.json", code=3)
    assert data(capsys, "dev", "lifecycle", "check")["valid"]


def test_the_examples_of_the_pages_are_sound(capsys: pytest.CaptureFixture[str]) -> None:
    docs = Path(__file__).parents[2] / "docs"
    for page, kind, words in (
        ("pipelines.md", "json", ("pipeline", "validate")),
        ("board.md", "markdown", ("board", "validate")),
    ):
        text = (docs / page).read_text()
        (example,) = re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)
        Path("example").write_text(example)
        assert data(capsys, *words, "example")["problems"] == []


@pytest.mark.parametrize(
    "said", ["-", "/dev/stdin", "../out.json", "ABOVE/out.json", "led", "no\0"]
)
@pytest.mark.parametrize("where", ["board", "config"])
def test_a_file_names_no_pipeline_outside_of_its_repository(
    where: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "out.json").write_text(json.dumps(ODD))
    windlass = tmp_path / "repo" / ".windlass"
    (windlass / "pipelines").mkdir(parents=True)
    (windlass / "pipelines" / "led.json").symlink_to(tmp_path / "out.json")
    said = said.replace("ABOVE", str(tmp_path))
    if where == "board":
        fields = f"  - Priority: LOW\n  - Dependencies: none\n  - Pipeline: {said}\n"
        (windlass / "kanban.md").write_text(f"## TASKS\n- [ ] **[AA-1]** a\n{fields}")
    else:
        (windlass / "config.toml").write_text(f"pipeline = {json.dumps(said)}\n")
    monkeypatch.chdir(windlass.parent)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(ODD).encode())))
    refused = data(capsys, "pipeline", "show", "--task", "AA-1", code=NotFound.exit_code)
    assert "no pipeline" in refused["error"]["message"]


def test_a_file_may_name_a_pipeline_by_its_path_from_the_top(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / ".windlass").mkdir()
    (tmp_path / ".windlass" / "config.toml").write_text('pipeline = "below/odd.json"\n')
    (below / "odd.json").write_text(json.dumps(ODD))
    monkeypatch.chdir(below)
    assert data(capsys, "pipeline", "show")["name"] == "odd"


def test_a_task_that_is_asked_for_has_a_tasks_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repo" / ".windlass" / "pipelines").mkdir(parents=True)
    (tmp_path / "repo" / "o.json").write_text(json.dumps(ODD))
    monkeypatch.chdir(tmp_path / "repo")
    refused = data(capsys, "pipeline", "show", "--task", "../../o", code=UserError.exit_code)
    assert "cannot be a task's id" in refused["error"]["message"]


def test_a_drawing_is_written_whole_and_through_no_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data(capsys, "pipeline", "show", "full", "--svg", "a.svg")
    (tmp_path / "a.svg").chmod(0o600)
    before = (tmp_path / "a.svg").read_bytes()
    (tmp_path / "led.svg").symlink_to("a.svg")
    (tmp_path / "dead.svg").symlink_to("none.svg")
    for name in ("led.svg", "dead.svg"):
        refused = data(capsys, "pipeline", "show", "fast", "--svg", name, code=3)
        assert "is a symbolic link" in refused["error"]["message"]
    with (tmp_path / "a.svg").open("rb") as held:
        data(capsys, "pipeline", "show", "fast", "--svg", "a.svg")
        assert held.read() == before
    assert (tmp_path / "a.svg").read_bytes() != before
    assert (tmp_path / "a.svg").stat().st_mode & 0o777 == 0o600


def test_the_roles_that_there_are_are_listed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [{"id": f"s{n}", "agent": f"who{n}"} for n in range(3)]
    (tmp_path / "p.json").write_text(json.dumps({"name": "p", "steps": steps}))
    problems = data(capsys, "pipeline", "validate", "p.json", code=3)["problems"]
    said = [problem["remedy"] for problem in problems]
    assert ["software-engineer" in remedy for remedy in said] == [True, False, False]
    assert all("roles/who" in remedy for remedy in said)
    (tmp_path / ".windlass").mkdir()
    (tmp_path / ".windlass" / "config.toml").write_text("[roles.who1]\nturns = 3\n")
    problems = data(capsys, "pipeline", "validate", "p.json", code=3)["problems"]
    assert [problem["path"] for problem in problems] == ["$.steps[0].agent", "$.steps[2].agent"]
