"""`wl import` brings ancestors' folders over, says what it left, and replaces nothing unasked."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.cli.told import Terminal

from windlass.api import calls
from windlass.cli.main import main
from windlass.core import config_layers, toml_text
from windlass.core.errors import Unavailable
from windlass.project import folder

KANBAN = """\
# Kanban

## Backlog

- [x] **[TASK-001]** First
  - Description: done
  - Priority: HIGH
  - Dependencies: none
- [=] **[TASK-002]** Under way
  - Priority: CRITICAL
  - Dependencies: TASK-001
- [=] **[TASK-005]** Under way, with a branch
  - Priority: CRITICAL
  - Dependencies: TASK-001

## Later

- [P] **[TASK-003]** Waits for approval
  - Priority: LOW
  - Dependencies: TASK-002
- [P] **[TASK-004]** Waits, and its branch is gone
  - Priority: LOW
  - Dependencies: TASK-003
"""
CONFIG = {
    "runtime": {"backend": "claude"},
    "max_workers": 4,
    "agents": {
        "engineering.security-audit": {
            "max_iterations": 5,
            "max_turns": 60,
            "result_mappings": {
                "FIX": {"status": "partial", "exit_code": 0, "default_jump": "self"}
            },
        },
        "system.task-worker": {"max_turns": 80, "colour": "red"},
        "home.grown": {"max_turns": 3},
    },
}
PIPELINE = {
    "name": "small",
    "steps": [
        {"id": "execution", "agent": "engineering.software-engineer", "max": 3},
        {
            "id": "audit", "agent": "engineering.security-audit", "readonly": True,
            "on_result": {"FIX": {"id": "audit-fix", "agent": "engineering.security-fix"}},
        },
    ],
}  # fmt: skip


def away(*_: Any, **__: Any) -> None:
    """A daemon that cannot be reached."""
    raise Unavailable("no daemon in this test", "")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINDLASS_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(calls, "ask", away)
    monkeypatch.setattr("sys.stdin", io.StringIO())


def git(*words: str) -> None:
    who = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    subprocess.run(["git", *who, *words], check=True, capture_output=True)


@pytest.fixture
def ralph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of Chief Wiggum's, with a branch of one task and the work tree of another."""
    folder = tmp_path / ".ralph"
    for made in ("pipelines", "plans", "logs", "workers/worker-TASK-005-17"):
        (folder / made).mkdir(parents=True)
    (folder / "kanban.md").write_text(KANBAN)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "pipelines" / "TASK-004.json").write_text(json.dumps(PIPELINE))
    endless = {"name": "bad", "steps": [{"id": "a", "agent": "worker", "max": 0}]}
    (folder / "pipelines" / "TASK-003.json").write_text(json.dumps(endless))
    (folder / "plans" / "TASK-004.md").write_text("how")
    (folder / "logs" / "a.log").write_text("long ago")
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("branch", "task/TASK-003-17")
    space = folder / "workers" / "worker-TASK-005-17" / "workspace"
    git("worktree", "add", "-q", "-b", "half/done", str(space))
    git("branch", "task/TASK-0050-17")
    git("pack-refs", "--all")
    git("branch", "task/TASK-005-17")
    monkeypatch.setattr(calls, "ask", all_kept)
    return folder


def all_kept(_verb: str, *, paths: list[str], **_: Any) -> list[dict[str, Any]]:
    """A daemon that keeps the work in every tree."""
    return [{"path": path, "entry": f"entry-{n}", "problem": ""} for n, path in enumerate(paths)]


def data(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    ended = main([*words, "--json"])
    out, err = capsys.readouterr()
    assert ended == code, (out, err)
    assert "nobody foresaw" not in err
    return json.loads(out or err)


def left(reply: Any) -> str:
    return "\n".join(f"{one['what']}: {one['why']}" for one in reply["left"])


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_project_of_wiggums_is_read_as_it_was_meant(
    ralph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(ralph)
    reply = data(capsys, "import", "ralph")
    assert contents(ralph) == before
    board = Path(".windlass/kanban.md").read_text()
    reset = (
        KANBAN.replace("- [x] **[TASK-001]", "## TASKS\n\n- [x] **[TASK-001]", 1)
        .replace("## Later", "### Later")
        .replace("[=]", "[ ]")
        .replace("[P] **[TASK-004]", "[ ] **[TASK-004]")
    )
    assert board == reset
    assert main(["board", "validate"]) == 0
    capsys.readouterr()
    assert Path(".windlass/plans/TASK-004.md").read_text() == "how"
    assert not Path(".windlass/pipelines/TASK-003.json").exists()
    said = left(reply)
    for words in (
        "TASK-003.json: $.steps[0].max: 0 is no bound",
        "max_workers: `wl run` takes it as",
        "home.grown: no role grown is here",
        "colour: nothing here means that",
        ".ralph/logs/: a file that means nothing here",
        "no heading ## TASKS: it is added, and 1 headings below it are one level lower",
    ):
        assert words in said
    assert reply["settings"] == {
        "pipeline": "full",
        "roles.security-audit.iterations": 5,
        "roles.security-audit.turns": 60,
        "roles.software-engineer.turns": 80,
        "roles.grown.turns": 3,
    }


def test_what_came_over_can_be_simulated_and_its_agents_have_no_category(
    ralph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ralph.exists()
    data(capsys, "import", "ralph")
    assert data(capsys, "pipeline", "validate", ".windlass/pipelines/TASK-004.json")["valid"]
    shown = data(capsys, "pipeline", "show", "--task", "TASK-004")
    assert [step["agent"] for step in shown["steps"]] == ["software-engineer", "security-audit"]
    words = ("pipeline", "simulate", ".windlass/pipelines/TASK-004.json", "--results", "audit=FIX")
    assert data(capsys, *words)["visited"] == ["execution", "audit", "audit:audit-fix", "audit"]
    assert data(capsys, "pipeline", "show", "--task", "TASK-001")["name"] == "full"
    (role,) = data(capsys, "pipeline", "roles", "security-audit")
    assert role["mappings"]["FIX"]["default_jump"] == "self"


def test_work_on_branches_is_offered_and_what_could_not_be_kept_is_said(
    ralph: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "ask", away)
    reply = data(capsys, "import", "ralph", code=14)
    assert {(one["task"], one["branch"]) for one in reply["branches"]} == {
        ("TASK-003", "task/TASK-003-17"),
        ("TASK-005", "half/done"),
        ("TASK-005", "task/TASK-005-17"),
    }
    assert "wl merge half/done --task TASK-005 --no-wait" in [
        one["command"] for one in reply["branches"]
    ]
    (tree,) = reply["trees"]
    assert tree["path"] == str(ralph / "workers" / "worker-TASK-005-17" / "workspace")
    assert (tree["entry"], tree["problem"]) == (None, "no daemon in this test")


def test_a_dry_run_writes_nothing_and_asks_nobody(
    ralph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(tmp_path)
    reply = data(capsys, "import", "ralph", "--dry-run")
    assert contents(tmp_path) == before
    assert reply["trees"] == []
    assert [file["how"] for file in reply["files"]] == ["written"] * len(reply["files"])
    assert ralph.exists()


def test_a_second_import_changes_nothing(
    ralph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data(capsys, "import", "ralph", str(ralph))
    before = contents(tmp_path)
    reply = data(capsys, "import", "ralph", str(tmp_path))
    assert {file["how"] for file in reply["files"]} == {"there"}
    assert contents(tmp_path) == before


def test_what_is_there_and_differs_stays_unless_somebody_says_yes(
    ralph: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ralph.exists()
    mine = Path(".windlass/kanban.md")
    mine.parent.mkdir()
    mine.write_text("mine")
    Path(".windlass/config.toml").write_text('# mine\npipeline = "fast"\n')
    reply = data(capsys, "import", "ralph", code=14)
    assert mine.read_text() == "mine"
    assert reply["settings_kept"] == {"pipeline": "fast"}
    config = Path(".windlass/config.toml").read_text()
    assert config.startswith('# mine\npipeline = "fast"\n')
    assert "[roles.security-audit]" in config
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert main(["import", "ralph"]) == 14
    assert mine.read_text() == "mine"
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert main(["import", "ralph"]) == 0
    assert "## TASKS" in mine.read_text()
    assert Path(".windlass/kanban.md.before-import").read_text() == "mine"


IB = {
    "permissions": {
        "manager": {"allow": ["Bash(ib:*)", "Bash(./ib:*)", "Read"], "deny": ["WebFetch"]},
        "worker": {"allow": ["Bash(make:*)"], "deny": []},
        "boss": {"allow": ["X"]},
    },
    "allowAgentQuestions": False,
    "maxAgents": 6,
    "fps": 10,
    "prompts": {"reviewer": "Look hard.", "bad": 3},
    "odd": [1],
}


def test_ittybittys_permissions_and_prompts_come_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".ittybitty.json").write_text(json.dumps(IB))
    prompts = tmp_path / ".ittybitty" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "worker.md").write_text("---\nname: x\n---\nUse `ib send`.\nBe brief.\n")
    (prompts / "all.md").write_text("Everybody.\n")
    (tmp_path / ".ittybitty" / "agents" / "a" / "repo").mkdir(parents=True)
    (tmp_path / ".ittybitty" / "repo-id").write_text("a1b2c3d4")
    reply = data(capsys, "import", "ittybitty")
    assert reply["settings"] == {
        "permissions.manager.allow": ["Read"],
        "permissions.manager.deny": ["WebFetch"],
        "permissions.worker.allow": ["Bash(make:*)"],
        "allow_agent_questions": False,
        "max_agents": 6,
    }
    assert Path(".windlass/roles/worker.md").read_text() == "Use `ib send`.\nBe brief.\n"
    assert Path(".windlass/roles/all.md").read_text() == "Everybody.\n"
    assert Path(".windlass/roles/reviewer.md").read_text() == "Look hard."
    said = left(reply)
    for words in (".ittybitty/agents/: work and logs", ".ittybitty/repo-id", "prompts.bad"):
        assert words in said
    for words in ("permissions.boss", "fps", "odd: nothing", "front matter", "worker.md, line 1: "):
        assert words in said
    assert {"old": "ib watch", "new": "wl watch", "there": False} in reply["commands"]


def test_multiclaudes_agents_prompts_and_configuration_come_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ".multiclaude"
    (folder / "agents").mkdir(parents=True)
    (folder / "WORKER.md").write_text("Run multiclaude agent complete.\n")
    (folder / "REVIEWER.md").write_text("Merge.\n")
    (folder / "agents" / "pr-shepherd.md").write_text("Shepherd.\n")
    (folder / "agents" / "user.md").write_text("No role can be called so.\n")
    (folder / "config").write_text('model = "opus"\nmerge_queue.enabled: true\nmax_workers = 3\n')
    reply = data(capsys, "import", "multiclaude", str(folder))
    assert {path.name for path in Path(".windlass/roles").iterdir()} == {
        *("worker.md", "merge-queue.md", "pr-shepherd.md")
    }
    assert reply["settings"] == {"model": "opus", "max_agents": 3}
    said = left(reply)
    for words in ("'user' cannot be a role's name", "the queue is no agent", "old commands"):
        assert words in said


@pytest.mark.parametrize("ancestor", ["ralph", "ittybitty", "multiclaude"])
def test_where_there_is_none_it_says_so(
    ancestor: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (".", "nowhere", str(tmp_path)):
        data(capsys, "import", ancestor, path, code=8)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".ittybitty.json", "{"),
        (".ittybitty.json", "[]"),
        (".ittybitty.json", '{"permissions": [], "maxAgents": true, "model": 3}'),
        (".ittybitty.json", '{"permissions": {"worker": {"allow": "Read", "ask": []}}}'),
        (".ralph/config.json", '{"agents": {"a": 3, "security-audit": {"max_turns": 0}}}'),
        (".ralph/config.json", '{"agents": {"plan-mode": {"result_mappings": {"FIX": 1}}}}'),
        (".ralph/config.json", "\ud800"),
        (".ralph/config.json", '{"model": "\\ud800"}'),
        (".ralph/config.json", '{"agents": {"plan-mode": {"max_turns": 99999999999999999999}}}'),
        (".ralph/config.json", '{"agents": {"plan-mode": {"max_turns": 9999999999}}}'),
        (".ralph/pipeline.json", '{"name": "\\udfff", "steps": [{"id": "a", "agent": "worker"}]}'),
        (".ralph/pipeline.json", '{"steps": [{"id": "a", "agent": "worker", "max": 1e999}]}'),
        (".multiclaude/config", 'model: "\\ud800"'),
        (".ittybitty.json", '{"prompts": {"worker": "\\ud800"}}'),
        (".ittybitty.json", '{"maxAgents": 99999999999999999999}'),
        (".ralph/config.json", '{"agents": {"A b": {"max_turns": 3}, "all": {"max_turns": 3}}}'),
        (".ralph/config.json", '{"agents": {"plan-mode": {"model": "\\u0000", "mode": "x"}}}'),
        (".ralph/kanban.md", "\0\udcff"),
        (".ralph/pipeline.json", '{"steps": 3}'),
        (".ralph/pipeline.json", "[" * 50_000),
        (".multiclaude/config", "no key here"),
        (".multiclaude/config.json", '{"model": ' * 5000),
    ],
)
def test_whatever_stands_there_is_carried_over_or_said(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    ancestor = name.partition("/")[0].removeprefix(".").removesuffix(".json")
    reply = data(capsys, "import", ancestor)
    assert name in left(reply)
    config = Path(".windlass/config.toml")
    held = config.read_text() if config.exists() else ""
    assert config_layers.problems(toml_text.read(held), "here") == []


FIX = {"status": "partial", "exit_code": 0, "default_jump": "self"}
OTHERS: dict[str, Any] = {
    "FIX": FIX,
    "PASS": {"status": "success", "exit_code": 0, "default_jump": "next"},
    "FAIL": {"status": "failure", "exit_code": 10, "default_jump": "prev"},
    "SKIP": {"default_jump": "nowhere"},
}


def a_pipeline_and(agents: dict[str, Any]) -> None:
    Path(".ralph").mkdir()
    Path(".ralph/agents.json").write_text(json.dumps(agents))
    own = {"FAIL": {"default_jump": "abort"}}
    text = json.dumps({**PIPELINE, "result_mappings": own})
    Path(".ralph/pipeline.json").write_text(text)


def test_what_results_mean_to_all_agents_comes_over_into_the_pipeline(
    capsys: pytest.CaptureFixture[str],
) -> None:
    a_pipeline_and(
        {
            "agents": {"security-audit": {"max_turns": 5}},
            "defaults": {"max_turns": 44, "result_mappings": OTHERS},
            "odd": 1,
        }
    )
    reply = data(capsys, "import", "ralph")
    assert reply["settings"] == {"roles.security-audit.turns": 5}
    held = json.loads(Path(".windlass/pipeline.json").read_text())
    assert held["result_mappings"] == {"FAIL": {"default_jump": "abort"}, "FIX": FIX}
    source = ".ralph/agents.json: "
    for line in (
        f"{source}defaults.max_turns: nothing here is of all roles",
        f"{source}defaults.result_mappings.FIX: goes into result_mappings of .windlass",
        f"{source}defaults.result_mappings.SKIP: not carried into .windlass/pipeline.json: $.",
        f"{source}odd: nothing here means that",
    ):
        assert line in left(reply)
    assert "result_mappings.PASS" not in left(reply)


def test_an_agents_own_mapping_goes_before_that_of_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = {"result_mappings": {"FIX": {**FIX, "default_jump": "next"}}}
    agents = {"engineering.software-engineer": own, "defaults": {"result_mappings": OTHERS}}
    a_pipeline_and(agents)
    reply = data(capsys, "import", "ralph")
    assert "roles.defaults" not in str(reply["settings"])
    assert "no role defaults" not in left(reply)
    (first, second) = data(capsys, "pipeline", "show", ".windlass/pipeline.json")["steps"]
    assert first["on_result"] == {"FIX": {"jump": "next"}}
    assert "jump" not in second["on_result"]["FIX"]


@pytest.mark.parametrize("said", [{"result_mappings": {"FIX": FIX}}, 3, {"result_mappings": []}])
def test_what_is_of_all_agents_and_cannot_be_carried_gets_a_line(
    said: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".ralph").mkdir()
    Path(".ralph/agents.json").write_text(json.dumps({"defaults": said}))
    reply = data(capsys, "import", "ralph")
    assert reply["settings"] == {"pipeline": "full"}
    assert ".ralph/agents.json: defaults" in left(reply)


def test_the_model_that_is_not_taken_and_a_bad_number_get_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path(".multiclaude").mkdir()
    Path(".multiclaude/config").write_text("model = opus\n")
    config = {"model": "haiku", "max_workers": "x"}
    Path(".multiclaude/config.json").write_text(json.dumps(config))
    reply = data(capsys, "import", "multiclaude")
    assert reply["settings"] == {"model": "haiku"}
    assert "config: model: opus is not taken: .multiclaude/config.json: model says" in left(reply)
    assert 'config.json: max_workers: "x" cannot be max_agents' in left(reply)


def test_of_the_new_commands_only_those_are_missing_that_nobody_has(
    ralph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ralph.exists()
    reply = data(capsys, "import", "ralph", "--dry-run")
    assert [pair["new"] for pair in reply["commands"] if not pair["there"]] == ["wl watch"]


def test_links_are_not_followed_in_either_direction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    (tmp_path / ".ralph" / "plans").mkdir(parents=True)
    (tmp_path / ".ralph" / "kanban.md").write_text(KANBAN)
    (tmp_path / ".ralph" / "plans" / "TASK-001.md").symlink_to(secret)
    reply = data(capsys, "import", "ralph")
    assert "plans/TASK-001.md: it is a symbolic link" in left(reply)
    assert not Path(".windlass/plans").exists()
    board = Path(".windlass/kanban.md")
    board.unlink()
    board.symlink_to(secret)
    data(capsys, "import", "ralph", code=3)
    assert secret.read_text() == "secret"
    board.unlink()
    Path(".windlass").rename("elsewhere")
    Path(".windlass").symlink_to("elsewhere")
    data(capsys, "import", "ralph", code=3)


@pytest.mark.parametrize("link", [".ralph", ".ralph/workers", ".ralph/workers/w-TASK-001-1"])
def test_no_link_on_the_way_to_a_workers_tree_is_followed(
    link: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, out = tmp_path / "project", tmp_path / "out"
    space = out / ".ralph" / "workers" / "w-TASK-001-1" / "workspace"
    space.mkdir(parents=True)
    (project / link).parent.mkdir(parents=True)
    (project / link).symlink_to(out / link)
    monkeypatch.setattr(calls, "ask", all_kept)
    assert data(capsys, "import", "ralph", str(project))["trees"] == []


def test_a_project_may_be_named_by_a_link_to_it(
    ralph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ralph.exists()
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    data(capsys, "import", "ralph", str(link))
    assert Path(".windlass/kanban.md").exists()


class Saver(Terminal):
    """A person who answers yes while their editor saves the file that is asked about."""

    def __init__(self, path: Path, *saved: str) -> None:
        super().__init__("y\n" * 9)
        self._path, self._saved = path, list(saved)

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        """Saves, and then answers."""
        if self._saved:
            self._path.write_text(self._saved.pop(0))
        return super().readline(size)


def test_what_is_saved_while_it_is_asked_about_is_asked_about_again(
    ralph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ralph.exists()
    mine = Path(".windlass/kanban.md")
    mine.parent.mkdir()
    mine.write_text("mine")
    monkeypatch.setattr("sys.stdin", Saver(mine, "mine, and more", "mine, and still more"))
    assert main(["import", "ralph"]) == 0
    assert "## TASKS" in mine.read_text()
    aside = [path.read_text() for path in mine.parent.glob("kanban.md.before-import*")]
    assert aside == ["mine, and still more"]


@pytest.mark.parametrize("blocked", ["plans", "config.toml", "roles/security-audit.md"])
def test_nothing_is_written_where_one_of_the_files_cannot_be(
    blocked: str, ralph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ralph.exists()
    path = Path(".windlass") / blocked
    path.parent.mkdir(parents=True)
    path.mkdir() if path.suffix else path.write_text("no folder")
    before = contents(Path(".windlass"))
    reply = data(capsys, "import", "ralph", code=2 if path.suffix else 3)
    assert blocked in reply["error"]["message"]
    assert contents(Path(".windlass")) == before
    assert not Path(".windlass/kanban.md").exists()


def test_what_was_written_before_an_error_is_said(
    ralph: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Path(".windlass/plans/TASK-004.md")
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")

    class Swapper(Terminal):
        """A person who answers yes and puts a link there."""

        def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
            mine.unlink()
            mine.symlink_to(ralph / "kanban.md")
            return super().readline(size)

    monkeypatch.setattr("sys.stdin", Swapper("y\n"))
    assert main(["import", "ralph"]) == 3
    said = capsys.readouterr().err
    assert "symbolic link" in said
    assert "written before that: " in said
    assert "kanban.md" in said


def test_only_what_is_wanted_is_read(
    ralph: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        with (ralph / "logs" / f"{number}.log").open("wb") as file:
            file.truncate(4 << 20)
    read: list[str] = []
    plain = folder.read

    def noted(path: str) -> bytes:
        read.append(path)
        return plain(path)

    monkeypatch.setattr(folder, "read", noted)
    assert ".ralph/logs/: 21 files that mean nothing here" in left(data(capsys, "import", "ralph"))
    assert not [path for path in read if path.endswith(".log")]
    assert [path for path in read if path.endswith("kanban.md")]


def test_names_and_git_files_that_mean_nothing_are_sentences(
    ralph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (b"plans/\xff.md", b"pipelines/\xff.json"):
        Path(os.fsdecode(os.fsencode(ralph) + b"/" + name)).write_text("{}")
    assert "its name is no UTF-8 text" in left(data(capsys, "import", "ralph"))
    (tmp_path / ".git").rename(tmp_path / "git")
    (tmp_path / ".git").write_text("gitdir: a\0b\n")
    reply = data(capsys, "import", "ralph", code=3)
    assert f"{tmp_path / '.git'} names no folder" in reply["error"]["message"]


def test_branches_are_not_looked_for_through_links(
    ralph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ralph.exists()
    heads, out = tmp_path / ".git" / "refs" / "heads", tmp_path / "out"
    heads.rename(out)
    (out / "far-TASK-003").write_text("")
    heads.symlink_to(out)
    branches = data(capsys, "import", "ralph")["branches"]
    assert "far-TASK-003" not in [branch["branch"] for branch in branches]
    assert branches
