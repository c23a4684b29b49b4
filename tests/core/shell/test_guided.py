"""The guided way of judging shell lines: by where they reach.

The sets in `lines/` are what developers type and what leads outside. Each was written before any
rule was changed for it. Of all that were written so far, this was seen at first sight:

| set | ordinary lines denied | tricks that pass, guided | strict |
|---|---|---|---|
| first | 4 of 337, 1.2 % | 12 of 416, 2.9 % | 4, 1.0 % |
| second | 7 of 390, 1.8 % | 20 of 578, 3.5 % | 1, 0.2 % |
| third | 4 of 172, 2.3 % | 9 of 529, 1.7 % | 1, 0.2 % |
| fourth | 0 of 132, 0.0 % | 1 of 112, 0.9 % | 0, 0.0 % |

The rules were mended by class for the first two, which are `tuned` now with older ones; the third
and the fourth, written for the mended rules, are `unseen`. Who mends a rule for them, writes more.
"""

from __future__ import annotations

import posixpath
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.core.crew import Policy
from windlass.core.policy import tool_policy
from windlass.core.policy.tool_calls import Decision, ToolCall
from windlass.core.shell import guided, line_policy, reader
from windlass.core.shell.reach import Places, Reach

HOME = "/home/mara"
STATE = f"{HOME}/.local/state/windlass"
WS = f"{STATE}/workspaces/shop-1a2b/lin"
KIM = f"{STATE}/workspaces/shop-1a2b/kim"
MAIN = f"{HOME}/src/shop"
FOLDER = f"{STATE}/agents/0a1b2c3d"
CLOSED = (STATE, MAIN, "/run/user/1000/windlass", f"{FOLDER}/policy.json", f"{FOLDER}/sessions")
PLACES = Places((WS, FOLDER), CLOSED)


def _normal(path: str) -> str:
    """As the daemon, but for links."""
    return "/" + posixpath.normpath(path).lstrip("/")


REACH = Reach(
    inside=lambda path: PLACES.inside(_normal(path)),
    closed=lambda path: PLACES.shut(_normal(path)),
    holds=lambda path: PLACES.holds(_normal(path)),
    real=_normal,
    workspace=WS,
    home=HOME,
    temp=f"{FOLDER}/tmp",
    shut=CLOSED,
    variables={
        "WINDLASS_HOME": STATE,
        "WINDLASS_REPO": MAIN,
        "XDG_RUNTIME_DIR": "/run/user/1000",
    },
)
GUIDED = tool_policy.with_mandatory(Policy(reading="guided"), level="hooks")
STRICT = tool_policy.with_mandatory(Policy(reading="strict"), level="hooks")


def decide(line: str, rules: Policy = GUIDED, *, cwd: str = WS) -> Decision:
    call = ToolCall(tool="Bash", input={"command": line}, cwd=cwd)
    return tool_policy.decide(call, rules, inside=REACH)


def lines(name: str) -> list[str]:
    """A set; a sign stands for line breaks, and names for places of this crew."""
    text = (Path(__file__).parent / "lines" / f"{name}.txt").read_text()
    for sign, meant in (("@STATE@", STATE), ("@KIM@", KIM), ("@MAIN@", MAIN)):
        text = text.replace(sign, meant)
    return [line.replace("⏎", "\n") for line in text.splitlines()]


def _most(part: float, found: list[str], among: list[str]) -> None:
    assert len(among) > 150
    share = f"{len(found)} of {len(among)}, {len(found) / len(among):.1%}, at most {part:.1%}:\n"
    assert len(found) <= part * len(among), share + "\n".join(found)


@pytest.mark.parametrize("half", ["tuned", "unseen"])
def test_ordinary_lines_are_not_denied(half: str) -> None:
    among = lines(f"ordinary_{half}")
    _most(0.03, [line for line in among if decide(line).verdict != "allow"], among)


@pytest.mark.parametrize("half", ["tuned", "unseen"])
def test_lines_that_reach_outside_are_denied(half: str) -> None:
    among = lines(f"tricks_{half}")
    _most(0.02, [line for line in among if decide(line).verdict == "allow"], among)


@pytest.mark.parametrize("half", ["tuned", "unseen"])
def test_read_strictly_no_line_reaches_outside(half: str) -> None:
    among = lines(f"tricks_{half}")
    _most(0.005, [line for line in among if decide(line, STRICT).verdict == "allow"], among)


@pytest.mark.parametrize(
    "line",
    [
        *("[[ a =~ b ]]", 'f=src/a; echo "${f##*/}" "${f%/*}"', 'echo "/api/v1"', 'echo "$a/$b"'),
        *("ls | xargs sed -i s/a/b/", "PYTHONPATH=src pytest", "source .venv/bin/activate"),
        *(
            "NODE_OPTIONS=--max-old-space-size=4096 npm run build",
            "for ((i=0;i<3;i++)); do ls; done",
        ),
        *("while [ $i -lt 3 ]; do i=$((i+1)); done", "sed -n '2{p;q}' a.txt"),
        *("GIT_EDITOR=true git rebase --continue", "ln -s ../README.md docs/README.md"),
        *("cd src && ls && cd - && ls", "[[ -n $CI && $BRANCH =~ ^release/ ]] && echo yes"),
        *(
            "perl -ne 'print if /a/ .. /b/' x",
            "grep -rn /etc/shadow tests",
            "ruby -Ilib t.rb -n /a/",
        ),
        *("env -i HOME=$HOME make", "git push origin HEAD", "git stash pop", "kill $(cat app.pid)"),
        *(
            "export P=$PWD/x; make",
            "docker cp web:/app/x .",
            "strace -f ./app",
            "systemctl status x",
        ),
        *('git push -u origin "$BRANCH"', "rg x", "base64 a.png", "gzip -k a", "kill %1"),
    ],
)
def test_daily_work_passes(line: str) -> None:
    assert decide(line).verdict == "allow", decide(line).reason


@pytest.mark.parametrize("line", ["[[ a =~ b ]]", 'echo "/api/v1"', 'f=a/b; echo "${f##*/}"'])
def test_no_reason_is_a_false_one_read_strictly_either(line: str) -> None:
    assert "outside" not in decide(line, STRICT).reason


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        (f"cat {MAIN}/src/app.py", "cat src/app.py"),
        ("cat ../kim/notes.txt", "cat notes.txt"),
        ("cp a.txt ~/b.txt", f"cp a.txt {FOLDER}/tmp/b.txt"),
        ("git stash drop", "git stash pop"),
        ("git stash pop stash@{2}", "git stash apply stash@{2}"),
        ("git push origin HEAD:main", "git push origin HEAD"),
        ("git checkout -B main", "git checkout -b main-lin"),
        ("git fetch origin main:main", "git fetch origin main"),
        ("WINDLASS_AGENT=kim wl list", "wl list"),
        ("env -u WINDLASS_SOCKET wl list", "wl list"),
        ("git config --global user.name x", "git config user.name x"),
    ],
)
def test_a_denial_names_the_nearest_line_that_would_be_allowed(line: str, instead: str) -> None:
    denial = decide(line)
    assert denial.verdict == "deny"
    assert f"This would be allowed: {instead}" in denial.reason
    assert decide(instead).verdict == "allow"


def test_where_no_line_would_do_none_is_named() -> None:
    assert "would be allowed" not in decide("cat /etc/shadow").reason


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("git config user.email x@y", 'git config --file "$WINDLASS_GIT_CONFIG" user.email x@y'),
        (
            "cd src && git -C . config pull.rebase true; ls",
            'cd src && git -C . config --file "$WINDLASS_GIT_CONFIG" pull.rebase true; ls',
        ),
        ("git config --get user.email", ""),
        ("git config user.email", ""),
        ("git config --list", ""),
    ],
)
def test_configuration_of_git_is_the_agents_own(line: str, becomes: str) -> None:
    decision = decide(line)
    assert decision.verdict == "allow", decision.reason
    assert decision.line == becomes


@pytest.mark.parametrize(
    "line",
    [
        *("git config core.hooksPath x", "git config alias.x '!sh'", "git config --global a.b c"),
        *("bash -c 'git config user.name x'", "git config --local user.name x"),
    ],
)
def test_no_other_configuration_is_set(line: str) -> None:
    assert decide(line).verdict == "deny"


@pytest.mark.parametrize(
    "line",
    [
        *("P=../kim eval 'cat $P/x'", "F=/etc/shadow sh -c 'cat $F'", "g='git -C ../kim'; $g log"),
        *("echo 'cat ../kim/x' > a; . ./a", "read -r a b <<< '/etc shadow'; cat $a/$b"),
        *("[[ a ]] && cat /etc/shadow", "cd ~-; cd ..; ls", "git rebase -x 'cat ../kim/x' HEAD~1"),
        *("git push origin HEAD:main", "git push origin agent/kim", "git stash pop stash@{2}"),
        *(
            "setsid wl list",
            "kill $(pgrep claude)",
            "killall node",
            "rsync a localhost:/home/mara/",
        ),
        *("curl -b ~/.cookies x", "docker cp ~/a web:/x", "PYTHONSTARTUP=/etc/shadow python -i"),
        "python -c \"import subprocess as s; s.run(['git', '-C', '../kim', 'log'])\"",
        "python -c \"import subprocess as s; s.run('wl approve c1', shell=True, env={})\"",
    ],
)
def test_what_a_line_starts_is_judged_with_what_it_knows(line: str) -> None:
    assert decide(line).verdict == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "diff <(git show HEAD:a) a",
        "diff -u a <(git show HEAD:a) >/dev/stdout 2>/dev/tty && echo same",
        "timeout 60 .venv/bin/python -m pytest -q",
        "nice -n 5 .venv/bin/python run.py",
    ],
)
def test_where_streams_and_the_programs_of_runners_lead_is_no_reach(line: str) -> None:
    """A stream leads elsewhere in each process; interpreters of environments are the system's."""
    leads = {
        "/dev/fd/63": "/proc/77/fd/pipe",
        "/dev/stdout": "/data/log",
        "/dev/tty": "/data/tty",
        f"{WS}/.venv/bin/python": "/data/pythons/python3",
    }
    places = REACH._replace(real=lambda path: leads.get(_normal(path), _normal(path)))
    call = ToolCall(tool="Bash", input={"command": line}, cwd=WS)
    assert tool_policy.decide(call, GUIDED, inside=places).verdict == "allow"


def test_what_is_denied_by_name_is_found_however_it_is_written() -> None:
    rules = tool_policy.with_mandatory(
        Policy(reading="guided", deny=("Bash(git push:*)", "Bash(npm publish:*)")), level="hooks"
    )
    for line in (
        *(
            "git push",
            "git -C . push",
            "/usr/bin/git push origin x",
            "g=git; $g push",
            "eval git push",
        ),
        *("bash -c 'git push'", "echo origin | xargs git push", "sudo npm publish"),
    ):
        assert decide(line, rules).verdict == "deny", line
    for line in ("git commit -m 'do not push'", "npm run publish-docs", "$X push"):
        assert decide(line, rules).verdict == "allow", line


def test_a_person_lifts_a_denial_by_spelling_it_out() -> None:
    lifted = (
        *("Bash(git branch -D:*)", "Bash(cat /etc/passwd:*)", "Bash(tmux:*)"),
        "Bash(ls ../kim)",
    )
    rules = tool_policy.with_mandatory(Policy(reading="guided", allow=lifted), level="hooks")
    for line in ("git branch -D x", "cat /etc/passwd", "tmux ls", "ls ../kim"):
        assert decide(line).verdict == "deny", line
        assert decide(line, rules).verdict == "allow", line
    for line in ("git branch -f x", "cat /etc/passwd /etc/shadow", "ls ../kim ../tom"):
        assert decide(line, rules).verdict == "deny", line


def test_what_a_denial_says_would_allow_a_line_allows_it() -> None:
    denials = [(line, decide(line)) for line in lines("tricks_unseen")]
    named = [(line, denial) for line, denial in denials if denial.patterns]
    rules = (
        tool_policy.with_mandatory(Policy(reading="guided", allow=denial.patterns), level="hooks")
        for _, denial in named
    )
    judged = [decide(line, rule).verdict for (line, _), rule in zip(named, rules, strict=True)]
    # A few are denied for two reasons, and told of one at a time.
    assert judged.count("allow") >= 0.98 * len(judged) > 200


def test_it_begins_in_the_agents_own_places() -> None:
    assert decide("ls", cwd=KIM).verdict == "deny"


_BITS = (
    *("cat ", "$(", ")", "'", '"', "${x", "}", "<<E\n", "\nE\n", "/etc/x ", "../ ", "; ", "| sh "),
    *("eval ", "python -c ", "git config a b ", "x=y ", "x=$x$x;", "{a,b}", "`", "cd .. ", "\\"),
    *(
        "for i in a; do ",
        "f(){ f; };f;",
        "&& ",
        "> a ",
        "~/x ",
        "\n",
        "(",
        "# ",
        "${x%%*a*b}",
        "\0",
    ),
)
_MOST_CALLS = {"guided": 250_000, "strict": 450_000}
"""Calls of functions, ours and built-in ones: some 50 ms at the most. Those of strict are short."""


_LENGTHS = (2_000, 8_000, line_policy.LONGEST)
"""Of what is looked into; whatever is longer is denied at once."""


def _calls(line: str, rules: Policy) -> int:
    count = 0

    def seen(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    line_policy.read_line.cache_clear()
    reader.forget()
    sys.setprofile(seen)
    try:
        decide(line, rules)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("rules", [GUIDED, STRICT], ids=["guided", "strict"])
@pytest.mark.parametrize("bit", _BITS)
def test_no_line_takes_long(bit: str, rules: Policy) -> None:
    for length in _LENGTHS:
        assert _calls((bit * length)[:length], rules) < _MOST_CALLS[rules.reading], length


@pytest.mark.parametrize("rules", [GUIDED, STRICT], ids=["guided", "strict"])
def test_no_line_that_is_said_over_and_over_takes_long(rules: Policy) -> None:
    for line in lines("ordinary_tuned")[::100]:
        for length in _LENGTHS:
            calls = _calls((f"{line}\n" * length)[:length], rules)
            assert calls < _MOST_CALLS[rules.reading], line


def test_what_is_longer_is_not_looked_into() -> None:
    for rules in (GUIDED, STRICT):
        assert _calls("ls;" * 11_000, rules) < 1_000


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(_BITS), min_size=1, max_size=8),
    st.sampled_from(_LENGTHS),
    st.sampled_from([GUIDED, STRICT]),
)
def test_no_mixture_takes_long(bits: list[str], length: int, rules: Policy) -> None:
    calls = _calls(("".join(bits) * length)[:length], rules)
    assert calls < _MOST_CALLS[rules.reading]


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab /.$(){}[]'\"`\\|&;<>*?~=:,@#!\n-e0", max_size=300))
def test_any_line_is_judged(line: str) -> None:
    assert guided.judge(line, WS, REACH).line.count("\n") == line.count("\n")
