"""git in a linked worktree: what is shared with others is not for one unboxed agent to take."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from windlass.core.crew import Policy
from windlass.core.policy import tool_policy
from windlass.core.policy.tool_calls import Decision, ToolCall
from windlass.core.shell.reach import Reach

WS = "/state/workspaces/repo/fox"
REACH = Reach(lambda _: True, workspace=WS)
BOXED = REACH._replace(boxed=True)
HOOKS = tool_policy.with_mandatory(Policy(allow=("Bash(bash:*)",)), level="hooks")


def decide(line: str, rules: Policy = HOOKS, *, reach: Reach = REACH) -> Decision:
    call = ToolCall(tool="Bash", input={"command": line}, cwd=WS)
    return tool_policy.decide(call, rules, inside=reach)


TAKING = [
    *("git branch -D agent/bea", "git branch -d main", "git branch --delete x", "git branch --d x"),
    *(
        "git branch -f main HEAD",
        "git branch --force main",
        "git branch -m main x",
        "git branch -M x",
    ),
    *("git branch -rd origin/x", "git branch -C a b", "git branch -qD x", "git branch --move a b"),
    *("git tag -d v1", "git tag -f v1", "git tag -af v1 -m x", "git tag --delete v1"),
    *(
        "git checkout -B main",
        "git checkout -qB main x",
        "git switch -C main",
        "git checkout -Bmain",
    ),
    *("git switch --force-create main", "git rebase --update-refs main"),
    *(
        "git update-ref refs/heads/main HEAD",
        "git update-ref -d refs/heads/main",
        "git replace a b",
    ),
    *("git symbolic-ref HEAD refs/heads/main", "git symbolic-ref -d HEAD", "git fast-import"),
    *(
        "git fetch . HEAD:main",
        "git fetch origin +a:b",
        "git pull . HEAD:main",
        "git fetch -f . a:b",
    ),
    *("git fetch --depth 1 origin a:b", "git fetch . HEAD@{0}:main"),
    *("git push . HEAD:main", "git push ./ x", "git push src/.. x", "git push /x/y a:b"),
    *(
        "git push -f . x",
        "git push --repo=. x",
        "git push file:///x y",
        "git send-pack . HEAD:main",
    ),
    *("git stash drop", "git stash clear", "git stash drop stash@{1}", "git reflog expire --all"),
    *("git reflog delete HEAD@{1}", "git gc", "git gc --prune=now", "git prune", "git repack -ad"),
    *("git worktree remove bea", "git worktree remove --force bea", "git worktree prune"),
    *("git worktree move bea x", "git remote remove origin", "git remote -v rename origin x"),
    *("git remote set-url origin x", "git -C src gc", "git --no-pager -c color.ui=never gc"),
    *("ls && git gc", "echo $(git stash clear)", "bash -c 'git gc'", "xargs git branch -D"),
    *("timeout 5 git gc", "git ls-files | xargs -n1 git branch -D"),
    *(
        "git branch --forc main HEAD",
        "git tag --del v1",
        "git branch '-D\n' x",
        "git rebase --up x",
    ),
    *("git worktree add -B main ./x", "git worktree add -fB main ./x", "git worktree add -f ./x x"),
    *("git checkout --ignore-other main", "git switch --ign main", "git switch --force-c main"),
    *("git push self --delete main", "git push -d self main", "git push self :main"),
    *(
        "git push self +:main",
        "git push --mirror self",
        "git push --pru self",
        "git push --dele x y",
    ),
    *(
        "git fetch --stdin .",
        "git fetch --std .",
        "git fetch --refmap=a:b . HEAD",
        "git fetch -P x",
    ),
    *("git remote add self .", "git remote add self src", "git remote add -f self file:///x"),
    *("git remote add --mirror=fetch x https://x.org", "git notes remove HEAD", "git notes prune"),
    *("git config user.email a@b", "git config --unset user.name", "git config set user.name x"),
    *(
        "git config --local log.date iso",
        "git config --add log.date iso",
        "git -C . config gc.auto 0",
    ),
]
ORDINARY = [
    *("git commit -m 'branch -D x'", "git commit --amend", "git stash", "git stash push -m drop"),
    *(
        "git stash pop",
        "git stash list",
        "git stash show -p",
        "git rebase main",
        "git rebase -q --root",
    ),
    *("git tag v1", "git tag -a v1 -m 'first'", "git tag -am x v1", "git tag -l", "git tag -n1"),
    *(
        "git switch -c try",
        "git switch main",
        "git switch -",
        "git checkout -b try",
        "git checkout -- f",
    ),
    *(
        "git branch",
        "git branch -a",
        "git branch -vv",
        "git branch try",
        "git branch --show-current",
    ),
    *("git branch --merged", "git branch --format='%(refname)'", "git branch -uorigin/dev"),
    *(
        "git fetch",
        "git fetch origin",
        "git fetch origin main",
        "git fetch --prune",
        "git pull --rebase",
    ),
    *("git fetch origin +refs/heads/*:refs/remotes/origin/*", "git fetch git@example.com:x/y.git"),
    *("git fetch --depth 1 git@example.com:x/y.git", "git pull --rebase origin main"),
    *(
        "git push",
        "git push origin HEAD",
        "git push -u origin HEAD:refs/heads/x",
        "git push -f origin x",
    ),
    *("git push git@example.com:x/y.git", "git push https://example.com/x.git a:b"),
    *("git symbolic-ref HEAD", "git symbolic-ref --short refs/remotes/origin/HEAD", "git reflog"),
    *(
        "git worktree list",
        "git worktree add ./x",
        "git remote -v",
        "git remote add x https://x.org",
    ),
    *("git reset --hard HEAD~1", "git clean -fd", "git merge main", "git log -p", "git log gc"),
    *("git checkout -B agent/fox", "git switch -C agent/fox main", "git switch --force main"),
    *("git worktree add -b new ./x", "git fetch -p origin", "git push --dry-run", "git notes add"),
    *("git remote add x git@example.com:x/y.git", "git remote show origin", "git rebase -u"),
    *("git config user.name", "git config --get user.name", "git config --list", "git config -l"),
    *("git config --global --get user.name", "git config get user.name", "git config list"),
    *("git config --worktree user.name x", "git config --worktree --unset log.date"),
    *("git -c user.name=x commit -m y", "git -c push.default=current push"),
]


def test_who_may_not_configure_is_told_what_works_in_every_worktree() -> None:
    """`git config --worktree` does not, unless the person has switched that on."""
    decision = decide("git config user.name x", HOOKS)
    assert "; give it to each command that needs it: git -c key=value" in decision.reason
    assert "--worktree" not in decision.reason
    assert decide("git -c user.name=x commit -m y", HOOKS).verdict != "deny"


@pytest.mark.parametrize("line", TAKING)
def test_what_takes_from_others_is_denied_and_says_what_is_shared(line: str) -> None:
    for rules in (HOOKS, Policy(allow=("Bash",))):
        decision = decide(line, rules)
        assert (decision.verdict, decision.rule) == ("deny", "shared"), decision
        assert "shares its" in decision.reason


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_work_goes_on(line: str) -> None:
    decision = decide(line)
    assert decision.verdict == "allow", decision.reason


@pytest.mark.parametrize("line", TAKING)
def test_in_a_box_the_clone_is_the_agents_own(line: str) -> None:
    rules = tool_policy.with_mandatory(Policy(), level="box")
    assert decide(line, rules, reach=BOXED).verdict == "allow"


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("git gc --prune=now", "Bash(git gc:*)"),
        ("git branch -D agent/bea", "Bash(git branch -D:*)"),
        ("git stash drop", "Bash(git stash drop:*)"),
        ("git fetch . HEAD:main", "Bash(git fetch . HEAD:main:*)"),
    ],
)
def test_a_person_can_allow_it_by_the_words_that_tell(line: str, pattern: str) -> None:
    call = ToolCall(tool="Bash", input={"command": line}, cwd=WS)
    typed = f"wl config add permissions.worker.allow '{pattern}'"
    assert tool_policy.suggestion(call, HOOKS) == typed
    assert typed in decide(line).reason
    assert decide(line, Policy(allow=(*HOOKS.allow, pattern))).verdict == "allow"


def test_a_pattern_that_is_silent_about_it_does_not_allow_it() -> None:
    rules = Policy(allow=("Bash(git branch:*)", "Bash(git stash:*)"))
    assert decide("git branch x", rules).verdict == "allow"
    assert decide("git branch -D x", rules).verdict == "deny"
    assert decide("git stash drop", rules).verdict == "deny"


def test_another_name_for_a_branch_of_ones_own_is_no_excuse() -> None:
    assert decide("git checkout -B agent/foxes").verdict == "deny"
    assert decide("git checkout -B main agent/fox").verdict == "deny"
    assert decide("git branch -m agent/fox x").verdict == "deny"


def test_git_finds_anothers_worktree_by_its_name_alone(tmp_path: Path) -> None:
    """The reason for one of the rules: no path in such a line leads out of the workspace."""

    def git(*words: str, at: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@x.invalid")
        subprocess.run(["git", *who, *words], cwd=tmp_path / at, check=True, capture_output=True)

    (tmp_path / "main").mkdir()
    git("init", "-q", at="main")
    git("commit", "-q", "--allow-empty", "-m", "x", at="main")
    for name in ("fox", "bea"):
        git("worktree", "add", "-q", f"../ws/{name}", "-b", name, at="main")
    (tmp_path / "ws" / "bea" / "unsaved").write_text("work")
    git("worktree", "remove", "--force", "bea", at="ws/fox")
    assert not (tmp_path / "ws" / "bea").exists()
