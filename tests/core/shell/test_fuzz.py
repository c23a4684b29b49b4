"""Generated lines against bash itself: what is allowed runs nothing but what was allowed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from windlass.core.crew import Policy
from windlass.core.policy import tool_policy
from windlass.core.policy.tool_calls import ToolCall

BASH = shutil.which("bash", path="/bin:/usr/bin:/usr/local/bin") or "bash"
REAL = ("env", "xargs", "nice", "timeout", "nohup")
"""Programs that run others: these are the real ones."""
SHIMS = ("git", "ls", "cat", "wc", "evil", "rm", "sudo", "sed", "find")
BUILTINS = ("echo", "test", "[", ":", "true", "false", "read", "export", "exec", "command", "cd")
ALLOW = (
    "Bash(git log:*)",
    *(f"Bash({name}:*)" for name in ("ls", "cat", "wc", *REAL, *BUILTINS)),
    "Bash(printf:*)",
    "Bash(wait:*)",
    "Bash(bash:*)",
    "Bash(exit:*)",
    "Bash(jobs:*)",
)


class Shell:
    """bash in a throw-away folder, where every program writes down that it was run."""

    def __init__(self, place: Path) -> None:
        self.log, self.work, self.shims = place / "log", place / "work", place / "shims"
        self.shims.mkdir()
        for name in SHIMS:
            (self.shims / name).write_text(
                "#!/bin/sh\n"
                f"printf '%s\\0' \"${{0##*/}}\" \"$@\" '\001' >> '{self.log}'\n"
                'echo "evil; \\$(evil) \\`evil\\`"\n'
            )
            (self.shims / name).chmod(0o755)
        for name in REAL:
            (self.shims / name).symlink_to(shutil.which(name) or name)
        (self.shims / "bash").symlink_to(BASH)
        box = shutil.which("bwrap")
        self._box = (
            [
                *(box, "--unshare-net", "--unshare-ipc", "--ro-bind", "/", "/", "--dev", "/dev"),
                *("--bind", str(place), str(place), "--ro-bind", str(self.shims), str(self.shims)),
                *("--chdir", str(self.work), "--"),
            ]
            if box
            else []
        )
        if not self.ran("evil"):  # there are machines whose bwrap cannot make a box
            self._box = []

    def ran(self, line: str) -> list[list[str]]:
        """What a line ran, each with its arguments."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        (self.work / "sub").mkdir()
        (self.work / "evil").write_text("evil\n")
        self.log.write_bytes(b"")
        # Names that no file has are written down too.
        unknown = f"() {{ printf '%s\\0' \"$@\" \001 >> '{self.log}'; }}"
        env = {"PATH": str(self.shims), "BASH_FUNC_command_not_found_handle%%": unknown}
        argv = [*self._box, BASH, "--norc", "--noprofile", "-c", line]
        subprocess.run(
            argv,
            cwd=self.work,
            env={**env, "HOME": str(self.work)},
            stdin=subprocess.DEVNULL,
            # Read to its end, so that what runs in the background is waited for.
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=30,
        )
        runs = self.log.read_bytes().decode(errors="replace").split("\0\001\0")
        return [run.split("\0") for run in runs if run]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("shell"))


def allowed(line: str) -> bool:
    call = ToolCall(tool="Bash", input={"command": line}, cwd="/nowhere")
    return tool_policy.decide(call, Policy(allow=ALLOW), inside=lambda _: True).verdict == "allow"


def was_allowed(run: list[str]) -> bool:
    """Whether a program that ran may be, by the lists above."""
    return run[:2] == ["git", "log"] or run[0] in ("ls", "cat", "wc", "")


def _join(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map("".join)


GOOD = st.sampled_from(["ls", "cat", "git log", "wc", "echo", "true", ":", "exit", "wait"])
NAME = st.one_of(
    GOOD,
    GOOD,
    GOOD,
    st.sampled_from(
        [
            *("'ls'", '"ls"', "l\\s", "l''s", 'l"s"', "\\ls", "$'ls'", "l\\\ns", "git\tlog"),
            *("evil", "e'vi'l", "ev\\\nil", "$'evil'", "$'\\x65vil'", "{evil,a}", "ev?l", "e*l"),
            *("$X", '"$X"', "$(echo evil)", "`echo evil`", "./evil", "~/evil", "git push", "[ls"),
            *("git -c alias.log=!evil log", "e${Y}vil", "evil\u00a0", "\u00a0ls", "ls\u00a0evil"),
            *("ls\revil", "ls\u2028evil", "e\u0301vil", "!", "! !", "time", "time -p", "coproc"),
            *("time -- -p", "function", "then", "do", "{", "}", "in", "]]", "eval", "source", "."),
            *(
                "jobs -x evil",
                "jobs -lx evil",
                "jobs",
                "env -u X evil",
                "nice -n $X ls",
                "env A=$X ls",
            ),
            *("trap", "alias ls=evil;", "hash -p evil", "enable -f", "let", "unset", "read"),
        ]
    ),
)
TEXT = st.sampled_from(
    [
        *("a", "-l", "evil", "a b", "; evil", "&& evil", "| evil", "\nevil\n", "#", "\\", "$X"),
        *("`evil`", "$(evil)", "$((evil))", "${X:-$(evil)}", "${X}", "$", "!", "{", "}", "é", "''"),
        *(
            "EOF",
            "\nEOF\nevil\n",
            "\n\tEOF\nevil\nEOF\n",
            "\tEOF\nevil",
            ")",
            "(",
            "<(evil)",
            "\\\n",
            "\\`evil\\`",
            "\\$(evil)",
            "*",
            "~",
        ),
        *("{Z..a..6}evil{Z..a..6}", "{$,x}{X@P}", "{A..z}", "{a..e}", "{$,x}X", "{1..3}", "{a,b}"),
        *("a[$(evil)]", "-v", "-eq", "\t", "  ", "x\\", "%s", "-exec evil ;", "EOF)", '\\"', "=1"),
    ]
)
WORD = st.one_of(
    TEXT.map(lambda text: f"'{text}'"),
    TEXT.map(lambda text: f'"{text}"'),
    TEXT.map(lambda text: f"$'{text}'"),
    TEXT,
    TEXT,
    TEXT.map(lambda text: f"\\{text}"),
    _join(TEXT, TEXT),
    TEXT.map(lambda text: f'"${{X:-{text}}}"'),
    TEXT.map(lambda text: f"${{X:-{text}}}"),
    TEXT.map(lambda text: f"$(({text}))"),
)
GAP = st.sampled_from(
    [*[" "] * 20, *["  ", "\t", " \\\n", "\\\n ", ""] * 2, "\r", "\u00a0", "\v", "\u2003"]
)
BOUNDARY = st.sampled_from(["EOF", "'EOF'", '"EOF"', "\\EOF", "E'O'F", "$X", "E F", "'E F'"])
BODY = st.lists(TEXT, max_size=3).map("\n".join)


def _lines(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Lines made of lines."""
    sign = st.sampled_from(["; ", " && ", " || ", " | ", " & ", "\n", " |& ", ";", "&", "\\\n", ""])
    form = st.sampled_from(
        [
            *("$({})", "`{}`", '"$({})"', '"`{}`"', "<({})", "> >({})", "$(\n{}\n)", "X=$({})"),
            *("${{X:-$({})}}", "$(({}))", "a=({})", "< <({})", '<<< "$({})"', "$( ({}) )"),
        ]
    )
    whole = st.sampled_from(
        [
            *("({0})", "{{ {0}; }}", "! {0}", "time {0}", "if {0}; then {1}; fi", "(({0}))"),
            *("for x in {0}; do {1}; done", "while {0}; do {1}; break; done", "{0} # {1}"),
            *("case a in a) {0};; *) {1};; esac", "case {0} in ({1}) ls;; esac", "{0} #{1}\nls"),
            *(
                "f() {{ {0}; }}; f",
                "ls() {{ {0}; }}; ls",
                "[[ {0} ]]",
                "[ {0} ]",
                "[[ -n x ]] && {0}",
            ),
            *("if {0}\nthen\n{1}\nelse\n{0}\nfi", "until {0}; do {1}; break; done", "test {0}"),
            *("env {0}", "xargs {0}", "nice {0}", "timeout 5 {0}", "command {0}", "exec {0}"),
            *("bash -c '{0}'", 'bash -c "{0}"', "env X=1 {0}", "xargs -I a {0} {1}", "nohup {0}"),
            *(
                "X='1 {0}'; env A=$X {1}",
                "X='1 {0}'; nice -n $X {1}",
                "X='{0}'; {1} {{$,x}}{{X@P}}",
            ),
            *("X='{0}'; {1}", "X={0} {1}", "X=$({0}) {1}", "PATH=. {0}", "export X={0}; {1}"),
            *("{0} >{1}", "{0} 2>&1 | {1}", "{0} &>x; {1}", "{0} <<EOF\n{1}\nEOF\n", "{0}<{1}"),
            *(
                "{0} <<'EOF' && {1}\n$(evil)\nEOF",
                "cat <<-EOF\n\t{0}\n\tEOF\n{1}",
                "cat <<EOF\nx\n\tEOF\n{0}\nEOF\n{1}",
                "cat <<-EOF\nx\n\tEOF\n{0}\nEOF",
                "{0} {{fd}}>x",
            ),
            *(
                "git log \"$(cat <<'EOF'\n{0}\nEOF\n)\"",
                "$(cat <<EOF\n{0}\nEOF\n) {1}",
                "{0}\\\n{1}",
            ),
        ]
    )
    return st.one_of(
        _join(inner, sign, inner),
        st.builds(lambda f, a, g, b: f"{a}{g}{f.format(b)}", form, inner, GAP, inner),
        st.builds(lambda f, a, b: f.format(a, b), whole, inner, inner),
        st.builds(
            lambda a, b, body, c, end: f"{a} <<{b}{end}\n{body}\nEOF\n{c}",
            *(inner, BOUNDARY, BODY, inner, st.sampled_from(["", " | cat", "; ls", " #", " \\"])),
        ),
    )


SIMPLE = st.builds(
    lambda name, words: name + "".join(words), NAME, st.lists(_join(GAP, WORD), max_size=3)
)
LINES = st.recursive(SIMPLE, _lines, max_leaves=5)
NOISE = st.sampled_from(
    [*"\"'`$(){}<>|&;#!\\\n\t *?[]=~-ae0" * 4, *"\r\0\x0b\x85", *["$(", "<<", "EOF", "evil"] * 4]
)


@st.composite
def _mutated(draw: st.DrawFn) -> str:
    line = draw(LINES)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(line)))
        cut = draw(st.integers(0, 2))
        line = line[:at] + draw(st.one_of(st.just(""), NOISE)) + line[at + cut :]
    return line


def _check(line: str, shell: Shell) -> None:
    if allowed(line):
        beyond = [run for run in shell.ran(line) if not was_allowed(run)]
        assert not beyond, line


def test_what_runs_is_written_down_wherever_it_hides(shell: Shell) -> None:
    line = "ls a 'b c'; X=$(evil) nothing | xargs rm; (git push &); bash -c 'cat <(wc)'"
    found = sorted(shell.ran(line))
    assert found[1:3] == [["evil"], ["git", "push"]]
    assert ["ls", "a", "b c"] in found
    assert {"cat", "nothing", "rm", "wc"} < {run[0] for run in found}
    assert not allowed(line)
    assert not all(map(was_allowed, found))


QUIET = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large)


@settings(max_examples=150, deadline=None, suppress_health_check=QUIET)
@given(line=LINES | _mutated())
def test_no_command_runs_that_was_not_allowed(line: str, shell: Shell) -> None:
    _check(line, shell)


@pytest.mark.soak
@settings(max_examples=20_000, deadline=None, suppress_health_check=QUIET)
@given(line=LINES | _mutated())
def test_no_command_runs_that_was_not_allowed_for_long(line: str, shell: Shell) -> None:
    _check(line, shell)
