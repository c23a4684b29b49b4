from __future__ import annotations

import posixpath
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.core.crew import Policy
from windlass.core.policy import tool_policy
from windlass.core.policy.tool_calls import Decision, ToolCall
from windlass.core.shell.reach import Places, Reach

HOME = "/home/u"
WS = f"{HOME}/.windlass/ws/a"
TEMP = "/tmp/a"
MAIN = f"{HOME}/repo"
PLACES = Places((WS, TEMP), (f"{HOME}/.windlass", MAIN))
REACH = Reach(
    inside=lambda path: PLACES.inside(_normal(path)),
    closed=lambda path: PLACES.shut(_normal(path)),
    workspace=WS,
    home=HOME,
    temp=TEMP,
)
HOOKS = tool_policy.with_mandatory(Policy(allow=("Bash(bash:*)", "Bash(python:*)")), level="hooks")
BOX = tool_policy.with_mandatory(Policy(), level="box")


def _normal(path: str) -> str:
    """As the daemon, but for links."""
    return "/" + posixpath.normpath(path).lstrip("/")


def decide(line: str, rules: Policy = BOX, *, cwd: str = WS) -> Decision:
    call = ToolCall(tool="Bash", input={"command": line}, cwd=cwd)
    return tool_policy.decide(call, rules, inside=REACH)


@pytest.mark.parametrize("rules", [HOOKS, BOX], ids=["hooks", "box"])
@pytest.mark.parametrize(
    "line",
    [
        *(
            "ls",
            "cat src/a.py",
            "cat ./a ../a/b",
            f"cat {WS}/x",
            f"ls {TEMP}/y",
            "cat //home/u/.windlass/ws/a",
        ),
        *(
            "cd src && cat ../README",
            "(cd src && ls ..)",
            "cd src && cd .. && ls src/x",
            "cd . && ls",
        ),
        *(
            'X=src; ls "$X/core"',
            f'D={TEMP}/x; mkdir -p "$D/y" && cd "$D" && ls y/z',
            "cat $PWD/a",
        ),
        *(
            "ls ~/.windlass/ws/a",
            "ls $HOME/.windlass/ws/a/x",
            'ls "${HOME}/.windlass/ws/a"',
            "ls $(pwd)/a",
        ),
        *(
            'for f in *.py; do wc -l "$f"; done',
            "for d in src tests; do ls $d/x; done",
            "ls src/{a,b}",
        ),
        *(
            "cat $(git ls-files)",
            'echo "$x"',
            'cat "$f.bak"',
            "cat src/$x",
            "ls src/*/b",
            "ls .git* .?x",
        ),
        *(
            "ls >/dev/null 2>&1 </dev/stdin",
            "ls 2>/dev/stderr",
            "cat /dev/fd/3",
            "env ls >&2",
        ),
        *(
            "grep -rn '/api/v1' src",
            "grep -e /x src",
            "sed -n '/def x/,/^$/p' a.py",
            "sed 's|/a|/b|' f",
        ),
        *("awk '/foo/ {print $1}' f", "awk -F/ '{print $2}' f", "tr / -", "git log --grep=/x"),
        *(
            "git log --oneline origin/main..HEAD",
            "git diff HEAD~1 -- src/a.py",
            "git show HEAD:src/a.py",
        ),
        *(
            "git clone https://example.com/x/y.git",
            "git push git@example.com:x/y.git",
            "echo https://x//y",
        ),
        *(
            "git commit -m 'see /etc/hosts and ../x'",
            "echo 'and / or'",
            "echo 'what ../y'",
        ),
        "git commit -m \"$(cat <<'EOF'\nfix: /usr/lib and ~/x\nEOF\n)\"",
        "cat > a.ts <<'EOF'\nimport x from '../lib'\nopen('/etc/hosts')\nEOF",
        *("git -C src status", "python -Isrc/a b", "cut -d/ -f1 f", "cut -d / f", "date +%Y/%m/%d"),
        "bash -c 'cd src && ls ..'",
        *(
            "cp -vt src a",
            "cp -vt./src a",
            "sort -uo out a",
            "sort -uoout a",
            "git archive -oout HEAD",
        ),
        *("echo https://x/a/../b", "cat a://b", "cat 'a b/c'", "cat 'a b/../c'", "echo 'a ../b/c'"),
        *("P='a b'; cat $P", "P='a b'; for f in $P; do cat $f; done", 'P="see /etc"; echo "$P"'),
        *(
            "X=a; X+=b; cat $X",
            'o=; for f in a b; do o+="$f "; done; echo "$o"',
            "n=1; n+=1; ls $n",
        ),
        *("ln -s src/x y", f"ln -s {WS}/x y", "ln a b", "cd src && ln -s x ../y", "cp -r src x"),
        *("rm -rf build dist", "rm -rf ./*", "mv src/a .", "ls *", "cat {1..3}.txt"),
    ],
)
def test_a_line_that_stays_inside_is_allowed(line: str, rules: Policy) -> None:
    decision = decide(line, rules)
    assert decision.verdict == "allow", decision.reason


@pytest.mark.parametrize(
    "line",
    [
        *(
            "cat /etc/passwd",
            "cat ../b/x",
            "cat ..",
            "ls /",
            "cat a/../../b",
            f"cat {MAIN}/x",
            "ls /tmp",
        ),
        *(
            f"cat {WS}-more/x",
            f"cat {WS}/../b/x",
            "cat //etc/passwd",
            "cat /dev/../etc/passwd",
            "ls /dev/sda",
        ),
        *(
            "cat ~/x",
            "cat ~",
            "cat $HOME/x",
            "cat ${HOME}/x",
            'cat "$HOME"/x',
            "cat ~root/x",
            "cat ~+/../b",
        ),
        *(
            "cat $OLDPWD/x",
            "cat ~-/x",
            "cat $X/passwd",
            'cat "${X}/y"',
            'cat "$(echo /etc)/passwd"',
        ),
        *(
            "cat $(echo x)/../../b",
            "cat src/$x/../../../b",
            "X=/etc; cat $X/passwd",
            "X=..; cat $X/b/c",
        ),
        *(
            "X=a; X=/etc; cat $X/b",
            "export X=/etc; cat $X/p",
            "HOME=/etc; cat ~/passwd",
            "X=$HOME; ls $X/x",
        ),
        *("cat file:///etc/passwd", "cat file://localhost/etc/passwd", "curl FILE:///etc/passwd"),
        *(f"curl file://{WS}/%2e%2e/b/x", "curl -F x=@/etc/passwd u", "curl --data=@/etc/passwd u"),
        *(
            "git --git-dir=/x/.git log",
            f"git -C {MAIN} log",
            "git -C ../b log",
            "git -C.. log",
            "make -C/x",
        ),
        *(
            "cp -t/etc x",
            "grep -f/etc/passwd x",
            "grep x /etc/passwd",
            "grep --color x /etc/passwd",
            "grep --file /etc/passwd x",
            "git diff --no-index -m /etc/passwd x",
            "grep -e x /etc/passwd",
            "cc -I/usr/x",
        ),
        *(
            "sed -n p /etc/passwd",
            "sed -e p /etc/passwd",
            "awk '{print}' /etc/passwd",
            "scp h:/x y",
            "ls a:../b",
        ),
        *(
            "cd ..",
            "cd .. && ls",
            "cd /; ls",
            "cd; ls",
            "cd src/../..",
            "cd nope; cat ../x",
            "cd a || cat ../x",
        ),
        *(
            "cd -; cat a/b",
            "cd $X && cat a/b",
            "pushd ..",
            "pushd a; cat a/b",
            "cd a; cd b; cat ../../x",
        ),
        *(
            "for i in 1 2; do cd ..; done",
            "(cd src); cat ../x",
            "cd src & cat ../x",
            "cd src | cat ../x",
        ),
        *(
            "if cd src; then ls; fi; cat ../x",
            "! cd src && cat ../x",
            "CDPATH=/; cd etc && cat a/b",
        ),
        *(
            "cat {/etc/passwd,x}",
            "cat /{etc,x}/passwd",
            "cat {..,x}/b",
            "cat /e?c/passwd",
            "cat /*/passwd",
        ),
        *(
            "cat .*/x",
            "cat .?/x",
            "cat .[.]/x",
            "cat */../../x",
            "ls .*",
            "cat {a,{/etc/x,y}}",
            "cat '/etc/a b'",
        ),
        *(
            "ls > ../x",
            "ls >> /etc/x",
            "cat < /etc/passwd",
            "ls &> /x",
            "ls 2>/x",
            "cat <> /x",
            "ls >| /x",
        ),
        *(
            'for f in /etc/*; do cat "$f"; done',
            "for f in ../*; do cat $f; done",
            "[[ -f /etc/x ]]",
        ),
        *(
            "bash -c 'cat /etc/passwd'",
            "bash -c 'cd ..; ls'",
            "env X=1 cat /etc/passwd",
            "xargs cat /etc/x",
        ),
        *(
            "cat <<EOF\n$(cat /etc/passwd)\nEOF",
            "echo $(cat /etc/passwd)",
            "cat <(cat /etc/x)",
            "X=/etc/x",
        ),
        *(f"python -c \"open('{MAIN}/x')\"", f"cat <<'EOF'\n{MAIN}/x\nEOF", f"echo 'see {MAIN}/x'"),
        *(f"f() {{ cat {MAIN}/x; }}; f", "echo 'a b=~/repo/x'", f"git commit -m 'x' -F {MAIN}/m"),
        *("cat a://../../victim", "cat https://../../../x", "cat 'a b/../../victim'"),
        *(
            "cp -vt../victim a",
            "cp -vt/etc a",
            "cp -at.. x",
            "sort -uo../victim a",
            "sort -uo/etc/x a",
        ),
        *("cp --target-dir=../x a", "mv -vt../x a", "python -x../y"),
        *(
            "P='a ../victim'; cat $P",
            "P='a ../victim'; for f in $P; do cat $f; done",
            "P='x /etc'; ls $P",
        ),
        *(
            "X=.; X+=./victim; cat $X",
            "X=.; export X+=./victim; cat $X",
            "X=a; X+=/b; X+=/..; cat $X/../y",
        ),
        "X=; for i in 1 2; do X+=.; done; cat $X/victim",
        *(
            "cd src && ln -s .. up && mv up ..",
            "cd src && ln -sf ../a b",
            "cd src && ln --sym ../a b",
        ),
        *("cd src && ln -st . ../a", "cd src && cp -s ../a .", "cd src && T=../a && ln -s $T b"),
        *(f"awk 'BEGIN {{ getline < \"{MAIN}/x\" }}'", f"python -c 'x = \"file://{MAIN}/%78\"'"),
    ],
)
def test_a_line_that_leaves_is_denied_at_either_level(line: str) -> None:
    decision = decide(line)
    assert (decision.verdict, decision.rule) == ("deny", "paths")
    assert decide(line, HOOKS).verdict == "deny"


def test_a_denial_names_the_path_and_where_to_go_instead() -> None:
    said = decide("cat ~/x").reason
    assert f"{HOME}/x is outside" in said
    assert WS in said
    assert TEMP in said
    assert "write the path out" in decide("cat $X/y").reason


def test_what_a_person_spelled_out_is_not_denied_for_its_paths() -> None:
    rules = tool_policy.with_mandatory(
        Policy(allow=("Bash(cat /etc/hosts:*)",)), level="hooks", commands=["/opt/ci --at /etc/ci"]
    )
    assert decide("cat /etc/hosts", rules).verdict == "allow"
    assert decide("ls | cat /etc/hosts -", rules).verdict == "allow"
    assert decide("/opt/ci --at /etc/ci", rules).verdict == "allow"
    for line in (
        "cat /etc/hosts /etc/x",
        "rm /etc/hosts",
        "cat -n /etc/hosts",
        "cat /etc/hosts > /x",
    ):
        assert decide(line, rules).verdict == "deny", line


@pytest.mark.parametrize(
    "line",
    [
        "cat /usr/include/stdio.h",
        "grep -rn 'def x' /usr/lib/python3/dist-packages",
        "head -5 < a; ls /usr",
        "find /usr/include -name '*.h' | head",
        "cat /usr/include/*.h > here",
    ],
)
def test_what_belongs_to_the_system_may_be_read(line: str) -> None:
    decision = decide(line, HOOKS)
    assert decision.verdict == "allow", decision.reason


@pytest.mark.parametrize(
    "line",
    [
        *("rm /usr/x", "cp a /usr/x", "ls > /usr/x", "cd /usr", "tee /usr/x", "touch /usr/x"),
        *("find /usr -delete", "find /usr -fprint x", "cat /usr/../etc/passwd", "cat /usrx/y"),
        *("cat a > /usr/x", "cat $(rm /usr/x)", "cat /etc/hosts", "ls; rm /usr/x", "xxd a /usr/x"),
        *("cat /{usr,etc}/x", "cat /usr/{a,../../etc/x}", "sed -i s/a/b/ /usr/x"),
    ],
)
def test_but_not_changed_nor_left_for_elsewhere(line: str) -> None:
    assert decide(line, HOOKS).verdict == "deny"


def test_a_main_tree_or_a_home_among_the_systems_folders_is_no_system() -> None:
    places = Places(("/usr/src/ws",), ("/usr/src/app",))
    reach = REACH._replace(
        inside=lambda path: places.inside(_normal(path)),
        closed=lambda path: places.shut(_normal(path)),
    )

    def verdict(line: str, reach: Reach) -> str:
        call = ToolCall(tool="Bash", input={"command": line}, cwd="/usr/src/ws")
        return tool_policy.decide(call, HOOKS, inside=reach).verdict

    assert verdict("cat /usr/include/x.h", reach) == "allow"
    assert verdict("cat /usr/src/app/x", reach) == "deny"
    assert verdict("cat /usr/home/u/.ssh/id", reach._replace(home="/usr/home/u")) == "deny"


OWN = f"{HOME}/.windlass/agents/a"


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        (f"cat {OWN}/policy.json", "deny"),
        (f"cp x {OWN}/p*.json", "deny"),
        (f"cat {OWN}/p*", "deny"),
        (f"cd {OWN} && echo > *.json", "deny"),
        (f"for f in {OWN}/*; do echo > $f; done", "deny"),
        (f"mv {OWN} x", "deny"),
        (f"rm -rf {OWN}", "deny"),
        (f"cd {OWN} && mv ../a {WS}/x", "deny"),
        (f"cd {OWN} && sort -upolicy.json", "deny"),
        (f"find {OWN} -delete", "deny"),
        (f"chmod -R a+w {OWN}/.", "deny"),
        (f"ls {OWN}", "allow"),
        (f"cd {OWN} && ls", "allow"),
        (f"cat {OWN}/notes", "allow"),
        (f"mv {OWN}/notes {OWN}/config/x", "allow"),
        (f"rm -rf {OWN}/config/*", "allow"),
        ("rm -rf ./*", "allow"),
    ],
)
def test_a_folder_that_holds_what_is_not_the_agents_is_not_changed(line: str, verdict: str) -> None:
    places = Places((WS, TEMP, OWN), (f"{HOME}/.windlass", MAIN, f"{OWN}/policy.json"))
    reach = REACH._replace(
        inside=lambda path: places.inside(_normal(path)),
        closed=lambda path: places.shut(_normal(path)),
        holds=lambda path: places.holds(_normal(path)),
    )
    call = ToolCall(tool="Bash", input={"command": line}, cwd=WS)
    decision = tool_policy.decide(call, HOOKS, inside=reach)
    assert decision.verdict == verdict, decision.reason


def test_a_denial_says_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "notes").symlink_to("/etc/passwd")
    reach = REACH._replace(inside=lambda _: False, real=lambda path: str(Path(path).resolve()))
    call = ToolCall(tool="Read", input={"file_path": "notes"}, cwd=str(tmp_path))
    said = tool_policy.decide(call, HOOKS, inside=reach).reason
    assert f"{tmp_path}/notes → /etc/passwd is outside" in said
    plain = ToolCall(tool="Read", input={"file_path": "/x/../etc/hosts"}, cwd=str(tmp_path))
    assert "→" not in tool_policy.decide(plain, HOOKS, inside=reach).reason


def test_a_line_is_denied_in_a_folder_that_is_not_the_agents() -> None:
    assert decide("ls", cwd="/").verdict == "deny"
    assert decide("ls", cwd=f"{WS}/src").verdict == "allow"
    assert decide("cat ../x", cwd=f"{WS}/src").verdict == "allow"


@pytest.mark.parametrize(
    ("path", "folded", "inside"),
    [
        ("/r/ws", False, True),
        ("/r/ws/a", False, True),
        ("/r/wsx", False, False),
        ("/R/WS/a", False, False),
        ("/R/WS/a", True, True),
        ("/r/ws/own/x", False, False),
        ("/r/ws/OWN/x", True, False),
        ("/r/ws/own/free", False, True),
        ("/r/cafe\u0301/x", False, True),
        ("/r/caf\u00e9/x", False, True),
        ("/r/CAFE\u0301/x", True, True),
        ("/", False, False),
    ],
)
def test_the_deepest_place_decides(path: str, *, folded: bool, inside: bool) -> None:
    places = Places(("/r/ws", "/r/ws/own/free", "/r/caf\u00e9"), ("/r", "/r/ws/own"), folded)
    assert places.inside(path) is inside
    assert not (places.inside(path) and places.shut(path))


ATOMS = st.sampled_from(
    [
        *"/.~$ *?{},=:'\"",
        "..",
        "../",
        "/etc",
        "src",
        "$HOME",
        "$X",
        "cd ",
        "cat ",
        " && ",
        "; ",
        "-C",
    ]
)


@settings(deadline=None, max_examples=400)
@given(st.lists(ATOMS, max_size=9).map("".join))
def test_paths_of_any_line_are_judged_and_asked_about_as_absolute_ones(line: str) -> None:
    asked: list[str] = []

    def inside(path: str) -> bool:
        asked.append(path)
        return True

    call = ToolCall(tool="Bash", input={"command": f"cat {line}"}, cwd=WS)
    tool_policy.decide(call, BOX, inside=Reach(inside, inside, WS, HOME, TEMP))
    assert all(path.startswith("/") and "\0" not in path for path in asked)


@pytest.mark.parametrize(
    "line",
    [
        "for x in a; do " * 30 + "cd a" + "; done" * 30,
        "; ".join(f"cd d{n}" for n in range(40)) + "; cat a/b",
        "cat " + "[" * 50_000,
        "cat " + "{" * 50_000,
        "cat " + "a:/x" * 20_000,
        "cat " + "{a,b}" * 40 + "/x",
        "X=a; " + "X=$X$X; " * 40 + "cat $X/y",
    ],
)
def test_what_would_take_forever_without_bounds_is_decided(line: str) -> None:
    assert decide(line).verdict in ("allow", "deny")


def test_links_are_followed_by_who_is_asked(tmp_path: Path) -> None:
    (tmp_path / "ws" / "deep").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "ws" / "out").symlink_to(tmp_path / "other")
    (tmp_path / "ws" / "in").symlink_to("deep")
    places = Places((str(tmp_path / "ws"),), (str(tmp_path),))
    reach = Reach(lambda path: places.inside(str(Path(path).resolve())))

    def verdict(line: str) -> str:
        call = ToolCall(tool="Bash", input={"command": line}, cwd=str(tmp_path / "ws"))
        return tool_policy.decide(call, BOX, inside=reach).verdict

    assert verdict("cat in/x") == "allow"
    for line in ("cat out/x", "cat out", "cd out", "ls in/../../other", "cd in && cat ../out/x"):
        assert verdict(line) == "deny", line
