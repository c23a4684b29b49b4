from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.core.crew import Policy
from windlass.core.policy import tool_policy
from windlass.core.policy.tool_calls import Decision, ToolCall
from windlass.core.shell import line_policy, second_reader

HOOKS = tool_policy.with_mandatory(
    Policy(allow=("Bash(make test:*)", "Bash(bash:*)")), level="hooks"
)


def decide(line: str, rules: Policy = HOOKS) -> Decision:
    call = ToolCall(tool="Bash", input={"command": line}, cwd="/ws")
    return tool_policy.decide(call, rules, inside=lambda _: True)


TRICKS = [
    # More than one command.
    *("git log; evil", "git log && evil", "git log || evil", "git log | evil", "git log & evil"),
    *("git log\nevil", "git log |& evil", "ls;evil", "ls&evil", "(evil)", "{ evil; }", "! evil"),
    *(
        "time evil",
        "if true; then evil; fi",
        "while evil; do ls; done",
        "for x in 1; do evil; done",
    ),
    *(
        "case a in a) evil;; esac",
        "case a in (a) evil; esac",
        "until evil; do :; done",
        "ls &\nevil",
    ),
    *("true && { ls; (evil); }", "if evil\nthen\nls\nfi", "ls # comment\nevil", "ls; #\nevil"),
    # Commands in words.
    *("echo $(evil)", "echo `evil`", 'echo "$(evil)"', 'echo "`evil`"', "cat <(evil)"),
    *("ls > >(evil)", "X=$(evil)", "X=`evil` ls", "echo ${X:-$(evil)}", 'echo "${X:-`evil`}"'),
    *("echo $(echo $(evil))", "echo `echo \\`evil\\``", "cat <<< $(evil)", "a=(1 $(evil))"),
    *("cat <<EOF\n$(evil)\nEOF", "cat <<EOF\n`evil`\nEOF", "for x in $(evil); do ls; done"),
    *("case $(evil) in a) ls;; esac", "[[ $(evil) ]]", '[ "$(evil)" ]', "ls > $(evil)"),
    *("echo $((1+$(evil)))", "echo $(( $(evil) ))", "(( $(evil) ))", "echo $[$(evil)]"),
    # Here-documents that are not what they seem.
    *("cat <<EOF\nEOF\nevil", "cat <<'EOF'\nEOF\nevil\nEOF", "cat <<EOF; evil\nEOF"),
    *(
        "cat <<-EOF\n\tEOF\nevil\nEOF",
        "cat <<E\\\nOF\nEOF\nevil\nEOF",
        "cat <<'E'OF\nEOF\nevil\nEOF",
    ),
    *("cat <<$X\n$X\nevil\n$X", 'cat <<"E F"\nE F\nevil', "cat <<EOF\nx\\\nEOF\nevil\nEOF"),
    *("$(cat <<EOF\nEOF\n evil)", "cat <<A <<B\nA\nB\nevil\nA\nB", "cat <<EOF", "cat <<EOF\nevil"),
    # Names in disguise.
    *("e''vil", 'e""vil', "e\\vil", "ev\\\nil", "$'evil'", "$'\\x65vil'", '$"evil"', "{evil,}"),
    *("ev?l", "e*", "[e]vil", "$X", '"$X"', "$(echo evil)", "`echo evil`", "X=evil; $X", "~/evil"),
    *("${X:-evil}", "./git log", "/tmp/git log", "bin/../git log", "../git log", "git\u00a0log"),
    *(
        "\u00a0evil",
        "evil\r",
        "ls\revil",
        "ls\x0bevil",
        "ls\x00evil",
        "\\\nevil",
        "e$@vil",
        "e$*vil",
    ),
    # What names mean.
    *("git() { evil; }; git log", "function git { evil; }; git log", "alias ls=evil; ls"),
    *("shopt -s expand_aliases\nalias ls=evil\nls", "hash -p /tmp/evil ls; ls", "enable -f ./e ls"),
    *(
        "PATH=/tmp git log",
        "PATH=/tmp; git log",
        "export PATH=/tmp; ls",
        "declare -x PATH=/tmp; ls",
    ),
    *("LD_PRELOAD=./e.so ls", "BASH_ENV=./e bash -c ls", "GIT_SSH_COMMAND=evil git fetch"),
    *("GIT_EXTERNAL_DIFF=evil git diff", "GIT_PAGER=evil git log", "PAGER=evil git -p log"),
    *("read PATH <<< /tmp; ls", "printf -v PATH /tmp; ls", "for PATH in /tmp; do ls; done"),
    *("env PATH=/tmp ls", "env -u X PATH=/tmp ls", "P=PATH; env $P=/tmp ls", "env P$X=/tmp ls"),
    *("BASH_CMDS[ls]=/tmp/evil; ls", "PROMPT_COMMAND=evil bash", "HOME=/tmp git log"),
    *(
        "PYTHONPATH=/tmp wl list",
        "readonly PATH=/tmp",
        "IFS=: PATH=. ls",
        "export -f ls",
        "ENV=e sh",
    ),
    # Commands that run others.
    *("eval evil", "eval 'evil'", "source ./evil", ". ./evil", "trap evil EXIT", "exec evil"),
    *("env evil", "env -i evil", "env X=1 evil", "env -S 'evil'", "nice evil", "nice -n 5 evil"),
    *(
        "nohup evil",
        "timeout 5 evil",
        "timeout -s KILL 5 evil",
        "timeout --foo 5 evil",
        "xargs evil",
    ),
    *(
        "xargs -n1 evil",
        "xargs -I{} {}",
        "xargs -I{} evil {}",
        "xargs env",
        "xargs sh -c",
        "sudo ls",
    ),
    *(
        "command evil",
        "builtin eval evil",
        "command -p evil",
        "command eval evil",
        "xargs xargs evil",
    ),
    *(
        "bash -c evil",
        "bash -c 'ls; evil'",
        'bash -c "$X"',
        "bash -c $(echo evil)",
        "bash -ec evil",
    ),
    *(
        "bash --rcfile e -c ls",
        "bash -O extglob -c evil",
        "bash -c \"bash -c 'evil'\"",
        "coproc evil",
    ),
    *(
        "find . -exec evil {} +",
        "find . -exec evil {} \\;",
        "find . -ok evil \\;",
        "find . -execdir e +",
    ),
    *("find . -exec bash -c evil \\;", "find . $X evil \\;", "find $X", 'find "$a" "$b" "$c"'),
    *(
        "stdbuf -oL evil",
        "time -p evil",
        "! time evil",
        "time -- evil",
        "ls | time evil",
        "busybox sh",
    ),
    # Text that the shell evaluates.
    *("x='a[$(evil)]'; echo $((x))", "x='a[$(evil)]'; ((x))", "let 'a[$(evil)]=1'"),
    *("x='a[$(evil)]'; [[ x -eq 1 ]]", "[[ -v 'a[$(evil)]' ]]", "test -v 'a[$(evil)]'"),
    *("x='-v a[$(evil)]'; [ $x ]", "printf -v 'a[$(evil)]' x", "read 'a[$(evil)]' < f"),
    *("unset 'a[$(evil)]'", "x='$(evil)'; echo ${x@P}", "x='a[$(evil)]'; echo ${!x}", "wait -p x"),
    *("a[$(evil)]=1", "echo ${a[$(evil)]}", "declare -i x='a[$(evil)]'", "echo ${x:$(evil)}"),
    *("declare 'a[$(evil)]=1'", "export 'a[$(evil)]=1'", '[ "$a" "$b" ]', "mapfile -C evil -c 1 x"),
    # Options that run programs.
    *("git -c alias.x=!evil x", "git -c core.pager=evil log", "git -c core.sshCommand=evil fetch"),
    *("git config alias.x '!evil'", "git config core.fsmonitor evil", "git --exec-path=/tmp log"),
    *("git rebase -x evil HEAD~1", "git rebase --exec evil HEAD", "git bisect run evil"),
    *("git submodule foreach evil", "git fetch --upload-pack=evil .", "git clone -u evil . x"),
    *(
        "git ls-remote --upload-pack evil .",
        "git push --receive-pack=evil origin x",
        "git grep -Oevil x",
    ),
    *("git grep --open-files-in-pager=evil x", "git difftool -x evil", "git filter-branch"),
    *("git clone -c core.fsmonitor=evil . x", "git archive --remote=. --exec=evil HEAD", "git $X"),
    *(
        "git fetch $X",
        "git clone ext::evil x",
        "git --config-env=a=b log",
        "git hook run x",
        "git -p x",
    ),
    *(
        "sed e f",
        "sed '1e evil' f",
        "sed 's/a/evil/e' f",
        "sed -n 'w x' f",
        "sed -f s f",
        "sed $X f",
    ),
    *('sed "s/a/$X/" f', "sed p *", 'sed p "$f"', "sed --expression=e f", "sed 's/a/b/w x' f"),
    *("awk 'BEGIN{system(\"evil\")}'", "awk '{print | \"evil\"}' f", "awk -f p f", 'awk "$X" f'),
    *("awk 'BEGIN{\"evil\"|getline}'", "sort --compress-program=evil f", "sort $X", "sort *"),
    *("wl exec bob -- evil", "wl -C . exec bob -- evil", "wl --json exec bob -- ls", "wl $X bob"),
    *("windlass config add permissions.worker.allow Bash", "wl daemon stop", "xargs wl"),
    *("git config --rename-section color.x alias", "xargs sed -i s/a/b/", "xargs -I{} bash -c {}"),
    *("git rebase --exe=evil HEAD", "git rebase --ex evil x", "git rebase '--exec=evil\n' x"),
    *("git init --t=evil", "git init --temp evil x", "git clone --conf a.b=evil . x"),
    *("git fetch --uplo=evil .", "git push --rece=evil origin x", "git grep --open=evil x"),
    *("git x/y", "git ../x", "git merge-index evil -a", "git submodule--helper foreach evil"),
    *("git rebase -s x/y main", "git cherry-pick --strategy=x/y a", "git revert --strategy x/y a"),
    *("git apply --unsafe-paths p", "git -c branch.x.remote=. -c push.default=upstream push"),
    *("git config --global user.name x", "git config -f x a.b c", "git config --edi"),
    *("git config branch.x.remote .", "git config --worktree core.hooksPath x"),
    *('awk \'{print ";" > "f"}\' x', 'awk \'/"/ {print ";" > "f"}\' x', "awk '{print 1/2 > 3}'"),
    *(
        "awk '{print /;/ > \"f\"}' x",
        "awk '{print $1,\n $2 > \"f\"}' x",
        "jobs -x evil",
        "jobs -lx e",
    ),
    *("wl -q -C . exec bob -- evil", "wl -q exec bob", "wl --json -C exec exec bob"),
    *("wl dev model serve", "wl --json dev -C . model serve x", "wl dev $X"),
    *("wl config -C list set a b", "wl -C . config --global set a b"),
    # Another person's name.
    *("env -u WINDLASS_SOCKET wl list", "env -uWINDLASS_SOCKET wl list", "env -iu X wl list"),
    *("env -i wl list", "env - wl list", "env --unset=WINDLASS_SOCKET wl list", 'env -u "$X" wl'),
    *("env --ignore-environment wl list", "env A=1 -u WINDLASS_HOME wl", "unset WINDLASS_SOCKET"),
    # Words that become several.
    *(
        "X=' -exec evil ;'; find . $X",
        "X='x -exec evil ;'; find ./$X",
        "X='a -x e'; git rebase a$X",
    ),
    *(
        "X='. -c alias.log=!evil'; git -C $X log",
        "X='a -c core.pager=evil'; git -c log.date=$X log",
    ),
    *("X='1 evil'; env A=$X ls", "X='5 evil'; nice -n $X ls", "X='1 evil'; xargs -n $X ls"),
    *("X=': BEGIN{system(\"evil\")}'; awk -F $X", "X='1 BEGIN{}'; awk -v n=$X '{print}' f"),
    *("X='. exec bob -- evil'; wl -C $X list", "X='a -ofile'; sort ./$X", "X='a -i'; sed p ./$X"),
    *("IFS=x; ls", 'IFS="$y"; ls', "for f in *; do sort ./$f; done", "read x; find ./$x"),
    # Braces are written out before anything else is read.
    *("echo {Z..a..6}evil{Z..a..6}", "echo {A..z}", "echo {a..Z}x", "X='$(evil)'; echo {$,x}{X@P}"),
    *("cat {$,x}HOME/x", "cat {a,b$}c"),
    # Not shell, or not one that is read.
    *(
        "ls (",
        "ls )",
        "ls 'x",
        'ls "x',
        "ls `x",
        "if ls",
        "for x",
        "ls <",
        "ls &&",
        "| ls",
        ";; ls",
    ),
    *(
        "ls !(x)",
        "ls @(a|b)",
        "select x in a; do evil; done",
        "for ((;;)); do evil; done",
        "ls {x}>y",
    ),
    *("ls\\", "$((ls) | (evil))", "((ls); evil)", "[[ a =~ (x|y) ]] && evil", "\ud800", "", "  \n"),
]


@pytest.mark.parametrize("line", TRICKS)
def test_what_hides_a_command_is_denied(line: str) -> None:
    decision = decide(line)
    assert decision.verdict == "deny"
    assert decision.rule in ("unknown", "unclear")
    assert len(decision.reason) > 10


PLAIN = [
    *("git log", "git  log -p", "'git' log", "gi''t log", "ls -la && pwd", "ls; cat f | wc -l"),
    *("cd src && make test -k x", "make test 2>&1 | tail -5", "ls > /dev/null 2>&1 &", "wl list"),
    *("git add -A && git commit -qm 'x; evil'", 'git commit -m "it\'s $(date)"', "true\nfalse\n"),
    "git commit -m \"$(cat <<'EOF'\nfix: it's `evil` (and $(evil))\n\nmore\nEOF\n)\"",
    *("cat > f <<'EOF'\n$(evil) `evil`\nEOF\ngit add f", "cat <<EOF | wc -l\nhello $USER\nEOF"),
    *(
        "cat <<-EOF\n\tx\n\tEOF\nls",
        "cat <<A <<B\n1\nA\n2\nB",
        "cat - <<'EOF' 2>&1 | tail -5\nx\nEOF",
    ),
    *(
        'for f in *.py; do wc -l "$f"; done',
        "cat $(git ls-files)",
        "while read -r l; do ls; done < f",
    ),
    *(
        'if [ -f x ]; then cat x; else echo "no"; fi',
        '[ "$a" = b ] && ls',
        "[[ -n $x && a == b* ]]",
    ),
    *("test -f x || exit 1", "i=0; i=$((i+1)); echo $((i * 2))", "echo ${x:-y} ${#x} ${x%.py}"),
    *(
        "diff <(sort a) <(sort b)",
        "find . -name '*.py' -exec wc -l {} +",
        "find . -type f | xargs ls",
    ),
    *(
        "ls *.py | xargs -I{} wc {}",
        "timeout 5 git log",
        "env X=1 make test",
        "nice -n 5 make test",
    ),
    *(
        "bash -c 'git log; ls'",
        "xargs -0 -n 1 grep x",
        "command -v python",
        "! grep -q x f",
        "time ls",
    ),
    *("sed -i 's/a/b/g; s|c|d|' f", "sed -n '1,5p' f", "sed -e 5d -e '/x/d' ./*.py", "sort -u f"),
    *(
        "awk -F, '{print $1, $2}' f",
        "awk 'NR>1 || /x/ {print}' f",
        "grep -E 'a|b' f",
        "echo {1..3}",
    ),
    *(
        "git -C src status",
        "git -c user.name=x commit",
        "git config --worktree user.email a@b",
        "git rebase main",
    ),
    *(
        "git fetch origin && git rebase origin/main",
        "git push -u origin HEAD",
        "git stash && git pull",
    ),
    *(
        "git -c core.editor=true rebase --continue",
        "git config --get x.y",
        "git log $X",
        "git add *",
    ),
    *(
        "echo a \\\n  b",
        "ls # comment",
        "# only this\nls",
        "{ ls; echo; } > f",
        "(cd a; ls) || true",
    ),
    *(
        "set -euo pipefail; ls",
        'export A=1 B="$x"; ls',
        "X=1",
        "sleep 1 & wait $!",
        "CI=1 make test",
    ),
    *(
        'case "$x" in\n  a|b) ls ;;\n  *) pwd ;;\nesac',
        'echo "$(ls | wc -l) files"',
        "grep 'x$\\|y' f",
    ),
    *("git rebase --empty=keep main", "git rebase -Xtheirs main", "git rebase -s ort main"),
    *("git merge -s recursive -X ours main", "git cherry-pick --strategy=ort x", "git lfs pull"),
    *("git init -q x", "git fetch --update-shallow origin", "git merge-base main HEAD"),
    *(
        "git push --recurse-submodules=no origin x",
        "git -C src -c log.date=iso log",
        "git --version",
    ),
    *("env -u PYTEST_ADDOPTS make test", 'env A="$X" make test', "env A=1 grep -i x f", "jobs -l"),
    *("wl -q list", "wl --json -C . status", "wl config get max_agents", "wl config list --json"),
    *("for d in src tests; do git -C $d log; done", "for d in a b; do find ./$d -name x; done"),
    *(
        "f=src/a.py; sed -n 5p ./$f",
        "n=5; awk -v n=$n '{print n}' f",
        "awk -v n=\"$n\" '{print n}' f",
    ),
    *('sort ./"$f"', 'find "$d" -name x', "find . -exec sed -n 1p {} +", 'nice -n "$n" make test'),
    *(
        "awk '/a/{print} NR>5{exit}' f",
        "awk '{if ($1>3) print}' f",
        "awk '{print $1; if ($2>3) n++}'",
    ),
    *("awk '{\n print $1\n if ($2 > 3) n++\n}' f", "awk '{print \"a;b\"; if (x > 3) exit}' f"),
    *("echo {a..e} {A..C} {1..10..2} {-3..3}", "cp a{,.bak}", 'echo "$5 {a,b}"', "echo {} a$"),
    *("while IFS=, read -r a b; do ls; done < f", "IFS=$'\\n'; for f in a b; do ls; done"),
    *(
        "make test; exit ${PIPESTATUS[0]}",
        "printf '%s\\n' \"$x\"",
        "read -r -p 'x? ' y",
        "cat $'a\\tb'",
    ),
]


@pytest.mark.parametrize("line", PLAIN)
def test_what_a_worker_types_is_allowed_without_a_box(line: str) -> None:
    decision = decide(line)
    assert decision.verdict == "allow", decision.reason


FREE = [line for line in TRICKS[:200] if not line.startswith("git config")]


@pytest.mark.parametrize("line", [*FREE, "f() { ls; }; f", "$X", "for ((;;)); do ls; done"])
def test_bare_bash_allows_what_cannot_be_judged(line: str) -> None:
    assert decide(line, Policy(allow=("Bash",))).verdict == ("allow" if line.strip() else "deny")


@pytest.mark.parametrize(
    ("line", "denied"),
    [
        ("git push", True),
        ("ls; git push", True),
        ("git -C . push", True),
        ("git --no-pager -c color.ui=never push", True),
        ("/usr/bin/git push", True),
        ("timeout 5 git push", True),
        ("xargs git push", True),
        ("xargs git", True),
        ("git $X", True),
        ("$X push", True),
        ("bash -c 'git push'", True),
        ("sudo sh -c 'git push'", True),
        ("eval 'git push'", True),
        ("f() { git push; }; f", True),
        ("echo $(git push)", True),
        ("git log && echo push", False),
        ('git commit -m "do not push"', False),
        ("git commit -m \"$(cat <<'EOF'\npush git push\nEOF\n)\"", False),
        ("git stash push", False),
        ("git log; npm push", False),
    ],
)
def test_a_denied_command_is_found_wherever_it_may_run(line: str, *, denied: bool) -> None:
    rules = Policy(allow=("Bash",), deny=("Bash(git push:*)",))
    assert (decide(line, rules).verdict == "deny") is denied


def test_the_projects_own_lines_are_allowed_as_they_are_and_with_more_behind() -> None:
    lines = [
        "PYTHONPATH=src pytest -q",
        "env CI=1 tox",
        "cd web && npm test",
        "sh ci.sh 'a b'",
        "f() { x; }; f",
    ]
    rules = tool_policy.with_mandatory(Policy(), level="hooks", commands=lines)
    for line in (*lines, "npm test -- -k x", "cd web && npm test -x", "pytest -q tests", "tox -x"):
        assert decide(line, rules).verdict == "allow", line
    for line in ("PYTHONPATH=x pytest -q", "npm publish", "sh ci.sh", "pytest", "cd web && evil"):
        assert decide(line, rules).verdict == "deny", line


@pytest.mark.parametrize(
    ("line", "patterns"),
    [
        ("npm test -- -x", ["Bash(npm test:*)"]),
        ("make; cargo build && ls", ["Bash(make:*)", "Bash(cargo build:*)"]),
        ("timeout 5 ruff check .", ["Bash(ruff:*)"]),
        ("./run.sh x", ["Bash(./run.sh:*)"]),
        ("$X", []),
        ("ruff 'x", []),
        ("PATH=. ruff", ["Bash(PATH=. ruff)"]),
        ("git rebase -x 'make test' main", []),
        ("git rebase -x make main", ["Bash(git rebase -x make main)"]),
        ("PATH=. ruff *", []),
        ("PATH=.\nruff", []),
        ("wl exec fox -- ls", []),
    ],
)
def test_what_would_allow_a_line_is_suggested(line: str, patterns: list[str]) -> None:
    rules = tool_policy.with_mandatory(Policy(), level="hooks")
    call = ToolCall(tool="Bash", input={"command": line}, cwd="/ws")
    lines = [f"wl config add permissions.worker.allow '{pattern}'" for pattern in patterns]
    assert tool_policy.suggestion(call, rules).splitlines() == lines
    if patterns:
        more = Policy(allow=(*rules.allow, *patterns), deny=rules.deny)
        assert decide(line, more).verdict == "allow"


@pytest.mark.parametrize(
    "line", ["sudo make", "python3.12 -c x", "/usr/bin/perl x", "ssh host x", "watch ls"]
)
def test_a_suggestion_that_would_allow_everything_says_so(line: str) -> None:
    call = ToolCall(tool="Bash", input={"command": line}, cwd="/ws")
    warning, typed = tool_policy.suggestion(
        call, tool_policy.with_mandatory(Policy(), level="hooks")
    ).split("\n")
    assert warning.startswith("# Bash(")
    assert "anything" in warning
    assert typed.startswith("wl config add")


def test_nothing_is_suggested_against_a_deny_list_or_for_who_has_the_whole_shell() -> None:
    call = ToolCall(tool="Bash", input={"command": "make x"}, cwd="/ws")
    assert tool_policy.suggestion(call, Policy(deny=("Bash(make:*)",))) == ""
    assert tool_policy.suggestion(call, Policy(allow=("Bash",))) == ""


@pytest.mark.parametrize(
    ("line", "helps"),
    [
        ("f() { ls; }; f", True),
        ("ls 'x", True),
        ("$X", True),
        ("eval ls", True),
        ("git fetch $X", True),
        ("PATH=. ls; $X", True),
        ("PATH=. ls", False),
        ("bash -c 'PATH=. ls'", False),
        ("git filter-branch", False),
        ("git -c core.pager=x log", False),
        ("wl daemon stop", False),
    ],
)
def test_writing_it_more_plainly_is_advised_where_that_helps(line: str, *, helps: bool) -> None:
    said = decide(line).reason
    assert ("more plainly" in said) is helps


def test_a_denial_says_what_a_person_needs() -> None:
    assert "evil" in decide("ls | evil").reason
    assert "Bash(evil:*)" in decide("ls | evil").reason
    assert "PATH" in decide("PATH=. ls").reason
    assert "functions" in decide("f() { ls; }; f").reason
    assert "name of a command is not written out" in decide("$X").reason


_TRIES = """
import sys
from windlass.core.shell import second_reader, tree
for _ in range(500):
    try:
        second_reader.names(sys.argv[1])
    except tree.Broken:
        pass
"""


def test_characters_of_no_table_do_not_end_the_process() -> None:
    line = "+$case esac\u00e90\\%/${\U000fbd95for &,((\u1975/#done\ufefffor '\U0001f600\"\\9"
    subprocess.run([sys.executable, "-c", _TRIES, line], check=True)


def test_a_name_in_any_script_is_read_as_it_is_written() -> None:
    found = second_reader.names("gr\u00fc\u00dfen 'x \U0001f600' | \u6f22\u5b57")
    assert sorted(found) == ["gr\u00fc\u00dfen", "\u6f22\u5b57"]


@settings(deadline=None)  # the first line pays for the second reader
@given(st.text(max_size=60))
def test_any_text_is_read_or_not_but_never_too_odd(line: str) -> None:
    found = line_policy.read_line(line)
    assert found.node is not None or found.doubts


@pytest.mark.parametrize(
    "sign", ["(", "$(", "{ ", "if ", "`", '"$(', "${x:-", "case x in x) ", "! "]
)
def test_deep_nesting_is_denied_and_never_crashes(sign: str) -> None:
    assert decide(sign * 3000).verdict == "deny"
    assert decide(sign * 200 + "ls", Policy(allow=("Bash",))).verdict == "allow"


@pytest.mark.parametrize(
    "line",
    [
        f"sed '{' ' * 30_000}z' f",
        f"sed '1{' ' * 30_000}!{' ' * 30_000}z' f",
        f"{'env ' * 6_000}ls",
        f"{'xargs ' * 6_000}ls",
        f"{'nice ' * 17}ls",
    ],
    ids=["sed", "sed twice", "env", "xargs", "nice"],
)
def test_a_line_that_takes_long_to_judge_is_doubted_before_it_does(line: str) -> None:
    """Whoever judges it answers everybody else too; a failure of this test is that it hangs."""
    assert line_policy.read_line(line).doubts


def test_a_few_programs_may_start_one_another() -> None:
    assert line_policy.vouches(
        "nohup nice timeout 5 env A=1 ls", ["nohup:*", "nice:*", "timeout:*", "env:*", "ls:*"]
    )
