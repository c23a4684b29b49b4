"""`wl init` finds a gate, has it tried, and commits it: that, and nothing else of the person's."""

from __future__ import annotations

import re
import socketserver
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.daemon.setup.init_ground import CODE, CONFIG, InitGround
from tests.support.contexts import NoSockets, Turned, lent
from tests.support.workshop import Workshop, git

from windlass.core import config
from windlass.core.errors import ConfigError, Conflict, GitError
from windlass.daemon.kernel import settings
from windlass.daemon.kernel.failpoints import Failpoints
from windlass.daemon.services import Services
from windlass.store import rows

GATE = '[gate]\ncommands = ["sh test.sh"]  # mine\n'


class Died(BaseException):
    """The daemon ends here."""


class Deadly(Failpoints):
    """Ends the daemon at a point."""

    def __init__(self, point: str) -> None:
        super().__init__(None)
        self._point = point

    def reached(self, name: str) -> None:
        """Dies there."""
        if name == self._point:
            raise Died


@pytest.fixture
def ground(clock: Turned) -> Iterator[InitGround]:
    """Its tests are green, and it has no gate."""
    with lent(clock, {}) as context:
        made = InitGround(context)
        made.commit(CODE)
        yield made
        made.close()


@pytest.fixture
def port() -> Iterator[int]:
    """Where somebody answers on this machine."""
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def status(ground: InitGround) -> str:
    """What git says of the checkout."""
    return git(ground.repo, "status", "--porcelain", "--untracked-files=all")


def test_the_file_to_start_from_is_valid_once_every_line_is_uncommented(
    workshop: Workshop,
) -> None:
    written = workshop.repo / settings.PROJECT_FILE
    workshop.ask("init", accept=False)
    text = written.read_text()
    written.write_text(re.sub(r"(?m)^# ?", "", text))
    settings.load(workshop.context.folders.home, str(workshop.repo))
    said = config.flatten(tomllib.loads(written.read_text()))
    assert set(said) == set(config.ABOUT) - config.PERSONAL


def test_nothing_is_written_by_looking(ground: InitGround) -> None:
    look = ground.look()
    assert look["proves"]
    assert not look["has_gate"]
    assert look["proposals"]["gate"]["check"][0]["run"]
    assert status(ground) == ""


def test_what_was_shown_is_what_is_committed_and_what_was_tried_is_the_verdict(
    ground: InitGround,
) -> None:
    look = ground.look()
    tried = ground.tried(digest=look["digest"])
    assert tried["outcome"] == "passed"
    assert (tried["network"], tried["tried"]) == (False, [])
    done = ground.accepted(digest=look["digest"])
    (shown,) = look["proposals"]["files"]
    assert git(ground.repo, "show", f"HEAD:{CONFIG}") == shown["text"]
    assert done["commit"] == ground.head()
    assert done["waiting"] == []
    runs = ground.runs
    assert ground.ask("gate")["outcome"] == "passed"
    assert ground.ask("gate.run")["cached"]
    assert ground.runs == runs


def test_only_its_own_files_are_committed(ground: InitGround) -> None:
    """What the person has staged stays staged, and what is only edited stays so."""
    ground.write("calc.py", CODE["calc.py"] + "# staged\n")
    git(ground.repo, "add", "calc.py")
    ground.write("calc.py", CODE["calc.py"] + "# staged\n# and edited\n")
    ground.write("new.txt", "mine")
    before, staged = status(ground), git(ground.repo, "diff", "--cached")
    ground.accepted()
    assert git(ground.repo, "diff", "--name-only", "HEAD~1", "HEAD").split() == [CONFIG]
    assert (status(ground), git(ground.repo, "diff", "--cached")) == (before, staged)


def test_it_says_who_committed_as_the_persons_git_does(ground: InitGround) -> None:
    ground.accepted()
    assert git(ground.repo, "log", "-1", "--format=%an %ae") == "Ann ann@example.org\n"


def test_checks_that_need_the_network_are_given_it_where_that_makes_them_green(
    ground: InitGround, port: int
) -> None:
    test = (
        "import socket\nimport unittest\n\n\nclass Asks(unittest.TestCase):\n"
        f"    def test_asks(self):\n        socket.create_connection(('127.0.0.1', {port}))\n"
    )
    ground.commit({"test_calc.py": test})
    tried = ground.tried()
    assert (tried["outcome"], tried["network"]) == ("passed", True)
    assert [check["outcome"] for check in tried["tried"]] == ["failed"]
    assert "Asks.test_asks" in tried["tried"][0]["failed"][0]
    ground.accepted(network=True)
    assert tomllib.loads(git(ground.repo, "show", f"HEAD:{CONFIG}"))["gate"]["network"] is True
    assert ground.ask("gate.run")["cached"], "what the person accepted is in force"


def test_a_red_target_is_red_with_the_network_as_well_and_gets_none(ground: InitGround) -> None:
    ground.commit({"calc.py": "def add(a, b):\n    return a - b\n"})
    tried = ground.tried()
    assert (tried["outcome"], tried["network"]) == ("failed", False)
    assert [check["outcome"] for check in tried["tried"]] == ["failed"]
    ground.accepted()
    view = ground.ask("gate")
    assert (view["tree"], view["outcome"]) == (tried["tree"], "failed")


def test_a_setup_that_fails_is_told_and_not_tried_with_more(ground: InitGround) -> None:
    setup = "[gate]\nsetup = 'echo lacking >&2; false'\n"
    ground.commit({CONFIG: setup})
    tried = ground.tried()
    assert tried["outcome"] == "could-not-run"
    assert tried["tried"] == []
    assert "lacking" in Path(tried["checks"][0]["log"]).read_text()
    ground.accepted()
    view = ground.ask("gate")
    assert view["outcome"] == "could-not-run"
    assert "gate.setup ended with 1" in view["checks"][0]["why"]


def test_a_gate_that_a_person_wrote_is_kept_to_the_byte(ground: InitGround) -> None:
    ground.commit({CONFIG: GATE, "test.sh": "true"})
    look = ground.look()
    assert look["has_gate"]
    assert look["proposals"]["gate"] is None
    assert look["proposals"]["files"] == []
    done = ground.accepted()
    assert (done["written"], done["commit"]) == ([], None)
    assert (ground.repo / CONFIG).read_text() == GATE


def test_what_stands_in_a_file_stays_and_only_what_is_missing_is_added(ground: InitGround) -> None:
    mine = "# mine\nmax_agents = 3 # few\n\n[gate]\nversions = ['true']\n\n[landing]\n# later\n"
    ground.commit({CONFIG: mine})
    ground.accepted()
    written = (ground.repo / CONFIG).read_text()
    assert [line for line in mine.splitlines() if line not in written.splitlines()] == []
    said = tomllib.loads(written)
    assert said["max_agents"] == 3
    assert said["gate"]["versions"] == ["true"]
    assert said["gate"]["check"]
    assert ground.look()["proposals"]["files"] == [], "once more, nothing is missing"


def test_a_hook_that_refuses_is_heard_and_nothing_is_lost(ground: InitGround) -> None:
    hook = ground.write(".git/hooks/pre-commit", "#!/bin/sh\necho 'ticket missing' >&2\nexit 1\n")
    hook.chmod(0o755)
    ground.write("calc.py", "staged = 1\n")
    git(ground.repo, "add", "calc.py")
    head, staged = ground.head(), git(ground.repo, "diff", "--cached")
    done = ground.accepted()
    assert done["commit"] is None
    assert "ticket missing" in done["uncommitted"]
    assert (ground.head(), git(ground.repo, "diff", "--cached")) == (head, staged)
    assert (ground.repo / CONFIG).is_file()
    hook.unlink()
    again = ground.accepted()
    assert again["commit"] == ground.head() != head


def test_a_commit_is_made_only_on_the_branch_that_changes_land_on(ground: InitGround) -> None:
    git(ground.repo, "checkout", "-q", "--detach")
    for where in ("on no branch", "on feature"):
        with pytest.raises(Conflict, match=where):
            ground.ask("init.prove")
        with pytest.raises(Conflict, match=where):
            ground.accepted()
        assert status(ground) == ""
        git(ground.repo, "checkout", "-q", "-B", "feature")
    assert ground.accepted(commit=False)["written"] == [CONFIG]
    assert status(ground) == f"?? {CONFIG}\n"


def test_without_a_commit_the_files_lie_there_and_the_trial_is_the_same(
    ground: InitGround,
) -> None:
    assert ground.tried(commit=False)["outcome"] == "passed"
    done = ground.accepted(commit=False)
    assert (done["commit"], done["uncommitted"]) == (None, "")
    assert status(ground) == f"?? {CONFIG}\n"
    assert ground.accepted()["commit"] == ground.head(), "what only it has written it may commit"
    assert status(ground) == ""


def test_edits_of_the_persons_own_are_not_committed_with_it(ground: InitGround) -> None:
    ground.write(CONFIG, "max_agents = 2\n")
    done = ground.accepted()
    assert done["commit"] is None
    assert done["uncommitted"] == f"{CONFIG} has edits that are not committed"
    said = tomllib.loads((ground.repo / CONFIG).read_text())
    assert said["max_agents"] == 2
    assert said["gate"]["check"]


def test_a_private_gate_counts_for_its_repository_alone_and_leaves_nothing_in_it(
    ground: InitGround, tmp_path: Path
) -> None:
    done = ground.accepted(private=True)
    assert Path(done["config"]).is_relative_to(ground.context.folders.home / "own")
    assert (status(ground), done["commit"]) == ("", None)
    assert ground.tried(private=True)["outcome"] == "passed"
    assert ground.ask("gate")["outcome"] == "passed"
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    git(other, "commit", "-q", "--allow-empty", "-m", "first")
    ground.ask("init", cwd=str(other))
    assert settings.load(ground.context.folders.home, str(other)).gate.check == []


def test_ignored_environment_files_are_brought_along(ground: InitGround) -> None:
    ground.commit({".gitignore": ".env*\n"})
    ground.write(".env", "KEY=1\n")
    done = ground.accepted()
    assert done["written"] == [CONFIG, ".worktreeinclude"]
    assert git(ground.repo, "show", "HEAD:.worktreeinclude") == ".env\n"
    assert done["waiting"] == []
    known = settings.load(ground.context.folders.home, str(ground.repo))
    assert known.workspace.include == [".env"]


def test_what_a_refused_commit_left_there_is_committed_by_the_next_one(ground: InitGround) -> None:
    """All of it; a list that the person wrote meanwhile stays theirs."""
    ground.commit({".gitignore": ".env*\n"})
    ground.write(".env", "KEY=1\n")
    hook = ground.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert ground.accepted()["commit"] is None
    hook.unlink()
    ground.write(".worktreeinclude", ".env\nmine\n")
    assert [file["path"] for file in ground.look()["proposals"]["files"]] == [CONFIG]
    ground.write(".worktreeinclude", ".env\n")
    done = ground.accepted()
    assert done["written"] == [CONFIG, ".worktreeinclude"]
    assert git(ground.repo, "status", "--porcelain").strip() == ""


def test_a_project_without_tests_gets_no_gate_and_hears_why(ground: InitGround) -> None:
    git(ground.repo, "rm", "-q", "test_calc.py")
    git(ground.repo, "commit", "-q", "-m", "none")
    look = ground.look()
    assert look["proposals"]["gate"] is None
    assert not look["proves"]
    assert any("no tests were found" in sentence for sentence in look["proposals"]["why"])
    assert ground.accepted()["written"] == []


def test_proposals_that_no_longer_fit_are_not_written(ground: InitGround) -> None:
    look = ground.look()
    ground.commit({"more.py": ""})
    with pytest.raises(Conflict, match="no longer what"):
        ground.accepted(digest=look["digest"])
    assert status(ground) == ""


@pytest.mark.parametrize("point", ["write.after", "commit.before", "commit.after"])
def test_a_daemon_that_dies_is_followed_by_one_that_commits_once(
    ground: InitGround, point: str
) -> None:
    head = ground.head()
    ground.context.failpoints = Deadly(f"init.{point}")
    with pytest.raises(Died):
        ground.accepted(key="k")
    ground.context.failpoints = Failpoints(None)
    after = Services(ground.context, NoSockets())
    for intent in ground.context.store.read(rows.open_intents):
        after.intents.resume(intent)
    done = ground.accepted(key="k")
    assert git(ground.repo, "rev-parse", "HEAD~1").strip() == head
    assert done["commit"] == ground.head()


def test_a_folder_without_a_checkout_or_a_commit_is_refused(
    ground: InitGround, tmp_path: Path
) -> None:
    bare, empty = tmp_path / "bare", tmp_path / "empty"
    for folder, words in ((bare, ["--bare"]), (empty, [])):
        folder.mkdir()
        git(folder, "init", "-q", *words)
    with pytest.raises(GitError, match="bare repository"):
        ground.ask("init.look", cwd=str(bare))
    with pytest.raises(GitError, match="no commit yet"):
        ground.ask("init.look", cwd=str(empty))


def test_the_branch_that_is_checked_out_is_named_where_nothing_else_says_it(
    ground: InitGround,
) -> None:
    git(ground.repo, "branch", "-m", "stable")
    ground.accepted()
    said = tomllib.loads((ground.repo / CONFIG).read_text())
    assert said["landing"]["target"] == "stable"
    git(ground.repo, "checkout", "-q", "-b", "feature")
    assert ground.ask("gate")["target"] == "stable"


def test_who_signs_commits_is_told_before_anything_is_written(ground: InitGround) -> None:
    """Nothing would land; the line to type lets it, unsigned."""
    before = ground.head()
    git(ground.repo, "config", "commit.gpgsign", "true")
    for verb, more in (("init.look", {}), ("init", {"accept": True})):
        with pytest.raises(ConfigError, match=r"commit\.gpgsign") as refused:
            ground.ask(verb, **more)
        assert "wl config set landing.unsigned true --global" in (refused.value.hint or "")
    assert ground.head() == before
    assert not (ground.repo / ".windlass").exists()
    settings.put(ground.context.folders.home / settings.USER_FILE, "landing.unsigned", value=True)
    assert ground.ask("init.look")["proves"] is True
