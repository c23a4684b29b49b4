"""Judging a line is bounded on any input: in length, in steps, and in what each pattern costs.

Nothing here is timed: steps are counted.
"""

from __future__ import annotations

import posixpath

import pytest

from windlass.core.crew import Policy
from windlass.core.policy import tool_policy
from windlass.core.policy.tool_calls import Decision, ToolCall
from windlass.core.shell import cd, line_policy, reader, second_reader
from windlass.core.shell.reach import Places, Reach
from windlass.core.shell.steps import MOST, Steps, TooLong
from windlass.core.shell.tree import Broken

HOME = "/home/u"
WS = f"{HOME}/.windlass/ws/a"
PLACES = Places((WS, "/tmp/a"), (f"{HOME}/.windlass", f"{HOME}/repo"))
REACH = Reach(
    inside=lambda path: PLACES.inside(posixpath.normpath(path)),
    closed=lambda path: PLACES.shut(posixpath.normpath(path)),
    workspace=WS,
    home=HOME,
    temp="/tmp/a",
)
DENY = ("Bash(git push origin main:*)", "Bash(evil:*)")
HOOKS = tool_policy.with_mandatory(
    Policy(allow=("Bash(bash:*)", "Bash(python:*)"), deny=DENY), level="hooks"
)
BARE = Policy(allow=("Bash",), deny=DENY)


def decide(line: str, rules: Policy, reach: Reach = REACH) -> Decision:
    line_policy.read_line.cache_clear()
    return judged(line, rules, reach)


def judged(line: str, rules: Policy, reach: Reach = REACH) -> Decision:
    call = ToolCall(tool="Bash", input={"command": line}, cwd=WS)
    return tool_policy.decide(call, rules, inside=reach)


SHAPES = {
    "blanks in sed": ("sed '", " ", "z' f"),
    "env": ("", "env ", "ls"),
    "env with settings": ("", "env A=1 ", "ls"),
    "xargs": ("", "xargs ", "ls"),
    "nots": ("", "! ", "ls"),
    "parentheses": ("", "(", ""),
    "arithmetic": ("((", "(", "))"),
    "substitutions": ("echo ", "$(ls) ", ""),
    "backquotes": ("echo ", "`ls` ", ""),
    "open substitutions": ("echo ", "$(", ""),
    "braces": ("cat ", "{", ""),
    "closing braces": ("cat ", "}", ""),
    "groups of braces": ("cat ", "{a}", ""),
    "alternatives": ("cat ", "{a,b}", ""),
    "nested braces": ("cat ", "{a,{", ""),
    "quotes": ("cat ", "'", ""),
    "pairs of quotes": ("cat ", "''", ""),
    "double quotes": ("cat ", '"', ""),
    "mixed quotes": ("cat ", "'a'b", ""),
    "escapes": ("cat ", "\\a", ""),
    "one word": ("cat ", "a", ""),
    "one quoted word": ("cat '", "a", "'"),
    "one word in double quotes": ('cat "', "a", '"'),
    "one word in $''": ("cat $'", "a", "'"),
    "dollars": ("cat ", "$ ", ""),
    "variables": ("cat ", "${x:-a}", ""),
    "here-documents": ("", "cat <<A\nx\nA\n", ""),
    "a here-document": ("cat <<A\n", "x;y\n", "A"),
    "here-documents that wait": ("cat ", "<<A ", "\nA"),
    "globs": ("cat ", "*a ", ""),
    "one glob": ("cat ", "*", ""),
    "settings": ("", "a=b ", "ls"),
    "settings that grow": ("X=a; ", "X=$X$X ", "; cat $X/y"),
    "an array": ("a=(", "x ", ")"),
    "commands": ("", "ls;", "ls"),
    "conditions": ("", "ls&&", "ls"),
    "pipes": ("", "ls|", "ls"),
    "ifs": ("", "if ls;then ls;fi;", "ls"),
    "cases": ("case a in ", "a) ls;;", "esac"),
    "patterns of a case": ("case a in a", "|a", ") ls;; esac"),
    "tests": ("[[ ", "a ", "]]"),
    "words": ("rm ", "a ", ""),
    "options": ("ls ", "-abc ", ""),
    "paths": ("ls ", "a/b ", ""),
    "parts of a word": ("ls a", f":{WS}", ""),
    "ways up": ("ls ", "a/../", ""),
    "slashes": ("ls ", "/", ""),
    "mentions": ("echo '", "/a ", "'"),
    "addresses": ("echo ", "file://a ", ""),
    "redirections": ("ls ", ">a ", ""),
    "comments": ("", "# a\n", "ls"),
    "continued lines": ("ls ", "\\\n", "a"),
    "prints of awk": ("awk '", "print ", "' f"),
    "letters of an option": ("git rebase '-", "x", "\n'"),
    "letters of another": ("git branch '-", "d", "\n' x"),
    "options before a denied word": ("git ", "-p push -o origin ", ""),
    "find": ("find . ", "-exec ls {} + ", ""),
    "programs of sed": ("sed ", "-e p ", "f"),
    "a program of sed": ("sed 's/a/b/;", "p;", "' f"),
    "lines for a shell": ("bash -c '", "ls;", "'"),
}


def shaped(shape: str, length: int) -> str:
    before, again, behind = SHAPES[shape]
    return before + again * ((length - len(before) - len(behind)) // len(again)) + behind


@pytest.mark.parametrize("shape", SHAPES)
def test_any_line_is_decided(shape: str) -> None:
    """Whoever judges it answers everybody else too; it neither raises nor hangs.

    It is read once for both: reading is most of the work, and knows no rules.
    """
    for length in (line_policy.LONGEST, 3 * line_policy.LONGEST):
        line = shaped(shape, length)
        line_policy.read_line.cache_clear()
        for rules in (HOOKS, BARE):
            assert judged(line, rules).verdict in ("allow", "deny")


def spent(line: str) -> int:
    steps = Steps(10 * MOST)
    try:
        read = reader.read(line, steps)
        second_reader.names(read.outline, steps)
    except Broken:
        pass
    return 10 * MOST - steps.left


@pytest.mark.parametrize("shape", SHAPES)
def test_both_readers_take_no_more_than_twice_the_steps_for_twice_the_line(shape: str) -> None:
    once, twice = spent(shaped(shape, 500)), spent(shaped(shape, 1_000))
    assert twice <= 2.2 * once + 3_000


MUCH_WORK = {
    "variables in variables": f"X={'a' * 9000};Y={'$X' * 3000};cat {'$Y' * 3000}",
    "loops that go on": "for x in a;do " * 5 + "cd a;cat " + "w " * 9000 + ";done" * 5,
    "programs that start one another": "xargs " * 5000 + "ls",
    "many commands": "ls;" * 5000,
    "many conditions": "ls&&" * 5000 + "ls",
    "braces": "cat " + "{a}" * 10_000,
}


@pytest.mark.parametrize("line", MUCH_WORK.values(), ids=MUCH_WORK)
def test_what_makes_much_work_of_little_text_is_denied_and_says_so(line: str) -> None:
    decision = decide(line, Policy(allow=("Bash",)))
    assert decision.verdict == "deny"
    assert "too long to judge" in decision.reason


def test_steps_that_are_used_up_stop_the_reader_where_it_is() -> None:
    for line in ("echo " + "a " * 100, "cat <<A\n" + "x\n" * 100 + "A", "echo '" + "a" * 100 + "'"):
        with pytest.raises(TooLong):
            reader.read(line, Steps(2_050))


@pytest.mark.parametrize("rules", [HOOKS, BARE, Policy(yolo=True)], ids=["hooks", "bare", "yolo"])
@pytest.mark.parametrize("boxed", [True, False])
def test_a_line_that_no_shell_takes_is_denied_at_once(rules: Policy, *, boxed: bool) -> None:
    decision = decide("x" * (128 * 1024 + 1), rules, REACH._replace(boxed=boxed))
    assert (decision.verdict, decision.rule) == ("deny", "unclear")
    assert "too long to judge" in decision.reason


def test_a_glob_of_braces_is_denied_and_not_followed_for_long() -> None:
    call = ToolCall(tool="Glob", input={"pattern": "{a}" * 1300}, cwd=WS)
    decision = tool_policy.decide(call, HOOKS, inside=REACH)
    assert (decision.verdict, decision.rule) == ("deny", "paths")
    assert "too long to judge" in decision.reason


def test_where_a_line_goes_that_makes_much_work_is_not_known() -> None:
    line = f"X={'a' * 9000};Y={'$X' * 3000};cd {'$Y' * 3000}"
    assert cd.entered(line, cwd=WS, known={}) == cd.Entered(frozenset(), frozenset())


def test_an_ordinary_long_file_is_still_written() -> None:
    body = "".join(f"static int f{n}(void) {{ return {n}; }} /* a | b & c */\n" for n in range(500))
    assert decide(f"cat > f.c <<'EOF'\n{body}EOF\ngit add f.c", HOOKS).verdict == "allow"
    assert (
        decide("git add " + " ".join(f"src/f{n}.c" for n in range(1500)), HOOKS).verdict == "allow"
    )
    chain = " && ".join(f"git mv a{n} b{n}" for n in range(150))
    assert decide(chain, HOOKS).verdict == "allow"
