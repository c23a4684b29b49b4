"""What stops which attack: the table that `tests/redteam` proves and `wl doctor --matrix` prints.

Pure data. Every line is really attempted at every level; a test fails when one ends otherwise than
it says here.
"""

from __future__ import annotations

from typing import NamedTuple

LEVELS = ("hooks", "box-host", "box-proxy", "box-none", "gate")
"""Hooks alone; a box with this machine's network, with allowed domains, with the model alone.

And the box of a gate, in which a change's own tests run."""

LEGEND = (
    "stopped: no way to do it got through.",
    "partly: some ways got through, some did not; the notes in docs/isolation.md say which.",
    "advised: the agent's own tools are refused it, a program that the agent runs is not.",
    "escapes: nothing is in the way.",
    "hooks: advice alone. box-host, box-proxy, box-none: a box, by the network that it has.",
    "gate: what a change has for tests, in the gate's box.",
)


class Attack(NamedTuple):
    """One line: what is tried, how it ends at each level, and what has to be known about that."""

    number: int
    attack: str
    outcome: dict[str, str]
    note: str


def table() -> list[Attack]:
    """The attacks in the order of their numbers, with the outcome at each level."""
    return [
        Attack(number, attack, dict(zip(LEVELS, (hooks, host, *_STRONG), strict=True)), note)
        for number, (attack, hooks, host, note) in (
            *enumerate(_LINES, start=1),
            *enumerate(_STARVING, start=_FIRST_STARVING),
        )
    ]


_STRONG = ("stopped", "stopped", "stopped")
"""A box with network `proxy` or `none` stops every line, and so does a gate's."""

_LINES: tuple[tuple[str, str, str, str], ...] = (
    # What is tried; how it ends with hooks alone; in a box with the host's network; a note.
    # With network `proxy` or `none`, and in a gate, all is stopped: there is no column for them.
    ("a sibling's workspace through ..", "advised", "stopped", ""),
    ("the main tree by its path", "advised", "stopped", ""),
    ("a link in the workspace to a sibling's", "advised", "stopped", ""),
    ("/proc/self/root in front of a path", "advised", "stopped", ""),
    ("/proc/PID/cwd, root and fd of a sibling", "advised", "stopped", ""),
    ("a hard link to a sibling's file", "advised", "stopped", ""),
    ("mode, times and size of a sibling's file", "advised", "stopped", ""),
    ("your home: keys, shell startup, user services", "advised", "stopped", ""),
    ("/dev/shm, /tmp and shared memory", "advised", "stopped", ""),  # noqa: S108 - words
    ("a commit in a sibling's workspace", "advised", "stopped", ""),
    ("moving branches of others, deleting packed-refs", "escapes", "stopped", ""),
    ("a git hook in the main repository", "advised", "stopped", ""),
    ("fsmonitor or an alias in the main repository's config", "escapes", "stopped", ""),
    (
        "git config of its own workspace, run by Windlass",
        "stopped",
        "stopped",
        (
            "Windlass reads agents' trees with git that runs nothing, those of boxed agents in a"
            " box of its own. Plain git of yours in such a tree runs what the agent configured:"
            " use `wl diff`, or `wl exec AGENT -- git ...`."
        ),
    ),
    ("its .git made to point elsewhere", "stopped", "stopped", "As line 14."),
    ("its commondir made to point elsewhere", "stopped", "stopped", "As line 14."),
    ("changing or deleting objects, borrowing a stranger's", "escapes", "stopped", ""),
    ("a nested repository with programs in its config", "stopped", "stopped", "As line 14."),
    ("drivers in .gitattributes, commands in .gitmodules", "stopped", "stopped", "As line 14."),
    (
        "reading or dropping your stash",
        "escapes",
        "stopped",
        (
            "A box shows the objects that branches, tags and remotes reach or have reached while"
            " there were boxes, other agents' branches included; not stashes, trash, or what no"
            " such ref named."
        ),
    ),
    ("a sibling's token in /proc/PID/environ", "advised", "stopped", ""),
    ("signals to a sibling and to the daemon", "escapes", "stopped", ""),
    ("ptrace and memory of a sibling's process", "escapes", "stopped", ""),
    (
        "a process that outlives its agent",
        "partly",
        "stopped",
        (
            "With hooks alone one survives that empties its environment and kills its session's"
            " holder first."
        ),
    ),
    ("a user namespace and a mount in it", "escapes", "stopped", ""),
    (
        "keys typed into your terminal, escape sequences",
        "partly",
        "stopped",
        (
            "Escape sequences are stopped at every level. With hooks alone a program under"
            " `wl exec` types into your shell where the kernel lets it."
        ),
    ),
    ("exhausting processes, files, disk and /tmp", "escapes", "stopped", "Limits: [box]."),
    (
        "programs that others run later: wl, libraries, PATH",
        "partly",
        "stopped",
        "The hook programs load nothing from the workspace at any level.",
    ),
    ("tmux servers: Windlass's and yours", "advised", "stopped", ""),
    (
        "the daemon's control socket, to act as you",
        "partly",
        "stopped",
        (
            "With hooks alone whatever runs below the holder of its session is the agent there too,"
            " with any environment. What has got out is you: what another program (a tmux, cron, a"
            " user service) started for it, or what emptied its environment and killed the holder"
            " first."
        ),
    ),
    (
        "speaking in another agent's name",
        "partly",
        "stopped",
        (
            "A claim is never believed, only the socket counts; with hooks alone every socket is in"
            " reach."
        ),
    ),
    ("the store and the folders of other agents", "advised", "stopped", ""),
    (
        "another agent's token; its own after its end",
        "partly",
        "stopped",
        "Its own means nothing after its end, at any level.",
    ),
    (
        "abstract sockets, D-Bus, ssh-agent, docker.sock",
        "escapes",
        "partly",
        "With the host's network abstract sockets are in reach; those with a path are not.",
    ),
    (
        "TCP and UDP services on this machine's loopback",
        "escapes",
        "escapes",
        (
            "The host's network includes it. Windlass itself listens on no port but those of hook"
            " receivers and, where an API key pays, those at which boxed agents ask their model;"
            " each has a token of its own, and who has it not keeps nobody from it who has."
            " There is no dashboard yet."
        ),
    ),
    (
        "inner addresses, directly or through the proxy",
        "escapes",
        "escapes",
        (
            "With the host's network there is no proxy in between. That TLS for another name is cut"
            " off is tested in tests/box."
        ),
    ),
    (
        "settings that switch hooks off or add some",
        "partly",
        "stopped",
        "With hooks alone a program can edit your own configuration and the agent's.",
    ),
    (
        "CLAUDE.md and the like, to steer later agents",
        "partly",
        "stopped",
        (
            "Such changes are marked, and no agent merges them into a branch of yours. With hooks"
            " alone an agent can move the branch itself (line 11)."
        ),
    ),
    ("replacing the hook program or its socket", "advised", "stopped", ""),
    ("asking for a tool without its sandbox", "advised", "stopped", ""),
    (
        "links, pipes and huge files where Windlass reads",
        "stopped",
        "stopped",
        "",
    ),
    ("escapes and markup in names and messages", "stopped", "stopped", "In the terminal's faces."),
    (
        "project commands that run what the agent edited",
        "escapes",
        "stopped",
        (
            "Setup and teardown. What the gate runs is in a box whatever its agent has, unless you"
            " accept otherwise."
        ),
    ),
    (
        "merging changes of CI, gate or reviewers",
        "partly",
        "stopped",
        "As line 38; what is proposed with `wl submit` waits for you.",
    ),
)

_FIRST_STARVING = 70
"""The numbers between are ways that are on nobody's list, which the tests try as well."""
_STARVING: tuple[tuple[str, str, str, str], ...] = (
    ("requests without end, to have all of the daemon", "stopped", "stopped", ""),
    ("connections that say nothing, to have all of them", "stopped", "stopped", ""),
    ("mail without end, so that nobody else is heard", "stopped", "stopped", ""),
    (
        "evidence without end, so that nobody else is looked at",
        "stopped",
        "stopped",
        "Of the daemon: others are answered meanwhile. The machine is line 27.",
    ),
)
