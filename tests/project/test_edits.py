"""A board is changed as it is at that moment: whatever an editor does meanwhile is kept."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from windlass.cli import board_edits
from windlass.cli.call import Call
from windlass.cli.commands import board as board_command
from windlass.cli.index import NAMES
from windlass.cli.main import main, parser_of
from windlass.core.board import edits as board_edits_of
from windlass.core.board import parser
from windlass.core.board.board import Board
from windlass.core.errors import ConfigError, Conflict, NotFound, UserError
from windlass.project import boards, edits, folder, folder_lock

BOARD = """\
# Work

## TASKS
- [ ] **[AA-1]** first
  - Priority: LOW
  - Dependencies: none
- [ ] **[AA-2]** second
  - Priority: LOW
  - Dependencies: none
"""


@pytest.fixture
def board(tmp_path: Path) -> Path:
    path = tmp_path / "kanban.md"
    path.write_text(BOARD)
    return path


@pytest.fixture(params=["in one step", "where names cannot be traded"])
def _exchange(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every system can let two files trade names."""
    if request.param != "in one step":
        monkeypatch.setattr(edits, "_exchange", lambda *_: False)


def saved_in_place(path: Path, text: str) -> None:
    path.write_text(text)


def saved_by_renaming(path: Path, text: str) -> None:
    """As vim does: a swap file, a new file, and that one renamed over the old one."""
    (path.parent / f".{path.name}.swp").write_text("swap")
    fresh = path.parent / f"{path.name}~"
    fresh.write_text(text)
    fresh.replace(path)


Save = Callable[[Path, str], None]
SAVES = pytest.mark.parametrize("save", [saved_in_place, saved_by_renaming])


def marked(path: Path, name: str, marker: str, meanwhile: Callable[[], None] | None = None) -> bool:
    """Marks a task; the first time that the board is looked at, something happens meanwhile."""
    waiting = [meanwhile] if meanwhile else []

    def edit(held: Board) -> str:
        text = board_edits_of.with_marker(held, name, marker)
        if waiting:
            waiting.pop()()
        return text

    return boards.change(str(path), edit)


@SAVES
@pytest.mark.usefixtures("_exchange")
def test_what_an_editor_saves_at_that_moment_is_kept(board: Path, save: Save) -> None:
    theirs = BOARD.replace("second", "another title") + "\nand a note\n"
    assert marked(board, "AA-1", "=", lambda: save(board, theirs))
    assert board.read_text() == theirs.replace("[ ] **[AA-1]", "[=] **[AA-1]")


@SAVES
@pytest.mark.usefixtures("_exchange")
def test_of_the_same_line_their_words_and_our_marker_stay(board: Path, save: Save) -> None:
    theirs = BOARD.replace("** first", "** better words")
    assert marked(board, "AA-1", "=", lambda: save(board, theirs))
    assert board.read_text() == theirs.replace("[ ] **[AA-1]", "[=] **[AA-1]")


@SAVES
@pytest.mark.usefixtures("_exchange")
def test_of_the_same_marker_theirs_stays_and_that_is_a_conflict(
    board: Path, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = BOARD.replace("[ ] **[AA-1]", "[x] **[AA-1]")
    once = [lambda: save(board, theirs)]
    plain = board_edits_of.with_marker

    def slow(*given: object, **named: object) -> str:
        text = plain(*given, **named)  # type: ignore[arg-type]
        if once:
            once.pop()()
        return text

    monkeypatch.setattr(board_edits_of, "with_marker", slow)
    words = ["mark", "AA-1", "=", "--file", str(board)]
    args = parser_of(NAMES["board"], board_command).parse_args(words)
    with pytest.raises(Conflict, match=r"AA-1 is \[x\]"):
        board_edits.mark(Call(args))
    assert board.read_text() == theirs


@SAVES
@pytest.mark.usefixtures("_exchange")
def test_half_of_a_file_that_is_just_being_written_is_put_back(board: Path, save: Save) -> None:
    with pytest.raises(NotFound):
        marked(board, "AA-2", "=", lambda: save(board, "## TASKS\n"))
    assert board.read_text() == "## TASKS\n"


@pytest.mark.usefixtures("_exchange")
def test_a_board_that_is_deleted_meanwhile_is_not_made_again(board: Path) -> None:
    with pytest.raises(Conflict, match="was deleted meanwhile"):
        marked(board, "AA-1", "=", board.unlink)
    assert [*board.parent.iterdir()] == []


def test_a_board_that_is_made_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "kanban.md"

    def edit(_: bytes | None) -> bytes:
        path.write_text("theirs")
        return b"ours"

    with pytest.raises(Conflict, match="was made meanwhile"):
        edits.change(str(path), edit)
    assert path.read_text() == "theirs"


def test_an_editor_that_never_stops_is_waited_for_with_an_end(board: Path) -> None:
    count = iter(range(1_000_000))

    def edit(held: Board) -> str:
        saved_by_renaming(board, f"{BOARD}{next(count)}\n")
        return board_edits_of.with_marker(held, "AA-1", "=")

    with pytest.raises(Conflict, match="somebody else keeps writing"):
        boards.change(str(board), edit)
    assert {path.name for path in board.parent.iterdir()} == {"kanban.md", ".kanban.md.swp"}


@pytest.mark.usefixtures("_exchange")
def test_a_change_leaves_mode_and_folder_as_they_were(board: Path) -> None:
    board.chmod(0o640)
    (board.parent / ".kanban.md.swp").write_text("swap")
    assert marked(board, "AA-1", "=")
    assert not marked(board, "AA-1", "=")
    assert board.stat().st_mode & 0o777 == 0o640
    assert {path.name for path in board.parent.iterdir()} == {"kanban.md", ".kanban.md.swp"}


KILLED = """
import os, sys
from windlass.project import boards, edits
from windlass.core.board import edits as changes
path, moment = sys.argv[1:]

def killed(*_):
    os.kill(os.getpid(), 9)

if moment == "before it is whole":
    os.fsync = killed
elif moment == "before names are traded":
    edits._exchange = killed
else:
    plain, count = edits._exchange, iter(range(9))
    def trade(*names):
        number = next(count)
        if moment != "after that" and number == 0:
            open(path, "a").write("theirs")
        traded = plain(*names)
        if moment != "after it was put back" or number == 1:
            killed()
        return traded
    edits._exchange = trade
boards.change(path, lambda board: changes.with_marker(board, "AA-1", "="))
"""


def killed(board: Path, moment: str) -> None:
    """A change that is killed in a moment of it."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(board), moment], check=False)
    assert done.returncode == -9


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        ("before it is whole", BOARD),
        ("before names are traded", BOARD),
        ("after that", BOARD.replace("[ ] **[AA-1]", "[=] **[AA-1]")),
    ],
)
def test_a_change_that_is_killed_is_done_or_not_and_the_next_one_clears_up(
    moment: str, text: str, board: Path
) -> None:
    killed(board, moment)
    assert board.read_text() == text
    assert len([*board.parent.iterdir()]) == 2
    marked(board, "AA-2", "x")
    assert board.read_text() == text.replace("[ ] **[AA-2]", "[x] **[AA-2]")
    assert [*board.parent.iterdir()] == [board]


def test_what_was_saved_in_the_moment_of_a_kill_is_kept_until_somebody_has_looked(
    board: Path,
) -> None:
    killed(board, "while somebody saves")
    (left,) = (path for path in board.parent.iterdir() if path != board)
    with pytest.raises(Conflict, match="holds what was saved into") as refused:
        marked(board, "AA-2", "x")
    assert left.name in refused.value.message
    assert left.read_text() == f"{BOARD}theirs"
    left.replace(board)
    assert marked(board, "AA-2", "x")
    assert board.read_text().endswith("theirs")


def test_a_file_that_somebody_has_committed_is_no_leftover_of_ours(board: Path) -> None:
    """One that came with a change would hold up every marker, and speak for the person."""
    planted = [
        board.parent / f".kanban.md.{'0' * 16}-{was}.01234567.windlass"
        for was in ("0123456789abcdef", hashlib.sha256(b"ours?").hexdigest()[:16])
    ]
    for path in planted:
        path.write_text("ours?")
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=board.parent, check=True)
    assert marked(board, "AA-2", "x")
    assert [path.read_text() for path in planted] == ["ours?"] * 2


def test_what_was_saved_is_back_in_its_place_before_anything_else_is_tried(board: Path) -> None:
    killed(board, "after it was put back")
    assert board.read_text() == f"{BOARD}theirs"
    assert marked(board, "AA-2", "x")
    assert [*board.parent.iterdir()] == [board]


def test_of_two_saves_in_one_moment_the_newer_one_stays(
    board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves = [f"{BOARD}older\n", f"{BOARD}newer\n"]
    plain = edits._exchange  # noqa: SLF001 - the moment between two steps of one change

    def trade(one: str, other: str) -> bool:
        if saves:
            board.write_text(saves.pop(0))
        return plain(one, other)

    monkeypatch.setattr(edits, "_exchange", trade)
    assert marked(board, "AA-1", "=")
    assert board.read_text() == f"{BOARD}newer\n".replace("[ ] **[AA-1]", "[=] **[AA-1]")


def a_link(path: Path) -> None:
    path.rename(path.with_name("real.md"))
    path.symlink_to("real.md")


def a_dead_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nothing")


def read_only(path: Path) -> None:
    path.chmod(0o444)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (a_link, "is a symbolic link, and nothing is written through links"),
        (a_dead_link, "is a symbolic link"),
        (read_only, "is read-only"),
        (a_folder, "is a folder"),
        (a_pipe, "is no plain file"),
    ],
)
def test_what_is_not_plainly_there_is_not_written(
    make: Callable[[Path], None], words: str, board: Path
) -> None:
    make(board)
    with pytest.raises((ConfigError, UserError), match=words) as refused:
        marked(board, "AA-1", "=")
    assert refused.value.hint
    assert "[ ] **[AA-1]" in (board.read_text() if board.is_file() else BOARD)


def test_what_a_shell_hands_over_is_read_to_its_end() -> None:
    inside, outside = os.pipe()
    text = b"x" * 200_000

    def write() -> None:
        with os.fdopen(outside, "wb") as file:
            file.write(text)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        assert folder.read(f"/dev/fd/{inside}") == text
    finally:
        writing.join()
        os.close(inside)


def test_processes_that_write_at_once_lose_nothing(board: Path) -> None:
    wl = [sys.executable, "-m", "windlass", "board", "add", "--file", str(board)]
    env = {**os.environ, "WINDLASS_HOME": str(board.parent / "state")}
    running = [
        subprocess.Popen([*wl, f"task {n}"], stdout=subprocess.DEVNULL, env=env) for n in range(8)
    ]
    for n in range(20):
        marked(board, "AA-1", "=" if n % 2 else " ")
    assert [process.wait(60) for process in running] == [0] * 8
    titles = {task.title for task in parser.parse(board.read_text()).tasks}
    assert titles == {"first", "second", *(f"task {n}" for n in range(8))}


def test_a_reader_sees_the_old_board_or_the_new_one(board: Path) -> None:
    done = threading.Event()
    odd: list[str] = []

    def look() -> None:
        while not done.is_set():
            text = board.read_text()
            if text.replace("[=]", "[ ]") != BOARD:
                odd.append(text)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for n in range(60):
            marked(board, "AA-2", " " if n % 2 else "=")
    finally:
        done.set()
        reader.join()
    assert odd == []


def test_twenty_thousand_lines_change_by_one_letter(tmp_path: Path) -> None:
    path = tmp_path / "kanban.md"
    rows = ["## TASKS"]
    for n in range(5_000):
        rows += [
            f"- [ ] **[AA-{n}]** t{n}\r",
            "  - Priority: LOW\r",
            "  - Dependencies: none\r",
            "",
        ]
    path.write_bytes("\n".join(rows).encode())
    before = path.read_bytes()
    assert marked(path, "AA-4999", "x")
    after = path.read_bytes()
    assert len(after) == len(before)
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


@pytest.mark.parametrize(
    "words",
    [("list",), ("next",), ("validate",), ("show", "AA-1"), ("mark", "AA-1", "x"), ("sort",)],
)
def test_a_board_too_large_to_be_one_is_refused(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kanban.md"
    with path.open("wb") as file:
        file.truncate((2 << 20) + 1)
    where = (
        [str(path)] if words[0] in ("list", "next", "validate", "sort") else ["--file", str(path)]
    )
    assert main(["board", *words, *where]) == UserError.exit_code
    told = capsys.readouterr().err
    assert "has more than 2 MiB" in told
    assert "done: ID" in told


class SlowEditor:
    """One that empties the file first, and writes and closes it a while later."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text
        self._later: threading.Timer | None = None

    def begin(self) -> None:
        """Empties it."""
        file = self._path.open("w")

        def finish() -> None:
            with file:
                file.write(self._text)

        self._later = threading.Timer(0.05, finish)
        self._later.start()

    def end(self) -> None:
        """Waits until it is written."""
        assert self._later is not None
        self._later.join()


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.usefixtures("_exchange")
def test_an_editor_that_has_emptied_the_file_is_waited_for(board: Path, early: bool) -> None:
    theirs = BOARD.replace("second", "another title")
    editor = SlowEditor(board, theirs)
    if early:
        editor.begin()
    assert marked(board, "AA-1", "=", None if early else editor.begin)
    editor.end()
    assert board.read_text() == theirs.replace("[ ] **[AA-1]", "[=] **[AA-1]")


def test_an_editor_that_writes_into_what_we_have_taken_is_heard(
    board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = f"{BOARD}a note\n"
    plain = edits._exchange  # noqa: SLF001 - the moment between two steps of one change
    first = [True]

    def trade(one: str, other: str) -> bool:
        if not first:
            return plain(one, other)
        first.clear()
        file = board.open("r+")

        def late() -> None:
            with file:
                file.write(theirs)

        traded = plain(one, other)
        threading.Timer(0.05, late).start()
        return traded

    monkeypatch.setattr(edits, "_exchange", trade)
    assert marked(board, "AA-1", "=")
    assert board.read_text() == theirs.replace("[ ] **[AA-1]", "[=] **[AA-1]")


EDITOR = """
import re, sys, time
path = sys.argv[1]
for n in range(25):
    text = open(path).read()
    with open(path, "w") as file:
        file.flush()
        time.sleep(0.002)
        file.write(re.sub("note: .*", "", text).rstrip() + f"\\nnote: {n}.\\n")
    end = time.monotonic() + 2
    while f"note: {n}." not in open(path).read():
        if time.monotonic() > end:
            sys.exit(f"save {n} is lost")
"""


def test_an_editor_that_saves_in_place_in_a_loop_loses_no_save(board: Path) -> None:
    editor = subprocess.Popen([sys.executable, "-c", EDITOR, str(board)])
    count = 0
    while editor.poll() is None:
        marked(board, "AA-1", "=" if count % 2 else " ")
        count += 1
    assert editor.returncode == 0
    assert "note: 24." in board.read_text()
    assert len([*board.parent.iterdir()]) == 1


@pytest.mark.parametrize("words", [("add", "new"), ("mark", "AA-1", "x"), ("sort",)])
def test_no_link_leads_out_of_the_repository(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kanban.md").write_text(BOARD.replace("LOW", "HIGH", 1))
    before = (tmp_path / "out" / "kanban.md").read_bytes()
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / ".windlass").symlink_to(tmp_path / "out")
    monkeypatch.chdir(tmp_path / "repo")
    assert main(["board", *words]) == ConfigError.exit_code
    assert "is a symbolic link, and nothing is written through links" in capsys.readouterr().err
    assert (tmp_path / "out" / "kanban.md").read_bytes() == before
    assert len([*(tmp_path / "out").iterdir()]) == 1


def test_a_file_where_a_folder_should_be_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".windlass").mkdir()
    (tmp_path / ".windlass" / "kanban.md").write_text(BOARD)
    (tmp_path / ".windlass" / "plans").write_text("")
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "AA-1"]) == ConfigError.exit_code
    assert "plans is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["folder", "dead link"])
@pytest.mark.parametrize("end", ["windlass", "windlass-part"])
def test_what_lies_where_a_change_would_be_written_stops_none(
    kind: str, end: str, board: Path
) -> None:
    was = board.read_bytes()
    now = BOARD.replace("[ ] **[AA-1]", "[x] **[AA-1]").encode()
    digests = f"{edits._digest(was)}-{edits._digest(now)}"  # noqa: SLF001 - what it is called
    for name in (digests, f"{digests}.00000000"):
        place = board.parent / f".kanban.md.{name}.{end}"
        place.mkdir() if kind == "folder" else place.symlink_to("nothing")
    assert marked(board, "AA-1", "x")
    assert board.read_bytes() == now


def test_who_holds_the_folder_is_said_and_not_waited_for_without_end(
    board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_lock, "_SILENT", 0.0)
    monkeypatch.setattr(folder_lock, "_PATIENCE", 0.1)
    said: list[str] = []
    with folder_lock.held(str(board.parent)), pytest.raises(Conflict) as refused:
        edits.change(str(board), lambda _: b"", remark=said.append)
    holder = f"process {os.getpid()} "
    assert len(said) == 1
    assert holder in said[0]
    assert holder in refused.value.message
    assert board.read_text() == BOARD


@pytest.mark.parametrize(
    "words",
    [
        ("board", "list"),
        ("board", "add", "new"),
        ("pipeline", "list"),
        ("plan", "AA-1"),
        ("import", "ralph", "."),
    ],
)
def test_a_folder_that_was_deleted_is_named(words: tuple[str, ...], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    command = [sys.executable, "-P", "-m", "windlass", *words]
    env = {**os.environ, "WINDLASS_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(gone), *command],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    assert done.returncode not in (0, 1), done.stderr
    assert "the current folder was deleted" in done.stderr
