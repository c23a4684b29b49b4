"""The index of commands: help and completion read it, so neither has to import a command."""

from __future__ import annotations

from typing import NamedTuple

_WORDS = frozenset({"import"})
"""Names that Python has for itself, so that no module can be called so."""


class CommandEntry(NamedTuple):
    """One command: its name, one line about it, its other names, and what is typed before it."""

    name: str
    about: str
    aliases: tuple[str, ...] = ()
    under: str = ""

    @property
    def module(self) -> str:
        """The module that implements it."""
        name = self.name.replace("-", "_")
        return (
            f"windlass.cli.commands.{name}_" if name in _WORDS else f"windlass.cli.commands.{name}"
        )

    @property
    def typed(self) -> str:
        """What is typed after `wl`."""
        return f"{self.under} {self.name}".lstrip()


SHORT: dict[str, tuple[CommandEntry, ...]] = {
    "start": (
        CommandEntry("init", "set up this repository"),
        CommandEntry("new", "start an agent on a goal", ("new-agent", "spawn")),
        CommandEntry("run", "work off the board: agents do its tasks, and what is proven lands"),
    ),
    "see": (
        CommandEntry("status", "show commits and uncommitted work"),
        CommandEntry("look", "show an agent's screen"),
        CommandEntry("diff", "show what an agent changed, or what a change brings"),
        CommandEntry("why", "say how an agent's state is known, or where a commit came from"),
        CommandEntry("log", "show what happened, or with --landed what has landed"),
    ),
    "steer": (
        CommandEntry("send", "say something to an agent, to several, or to the person"),
        CommandEntry("answer", "answer an agent's question"),
        CommandEntry("attach", "join an agent's terminal"),
    ),
    "end": (
        CommandEntry("merge", "land what an agent or a branch has, proven first"),
        CommandEntry("approve", "let a change land that waits for you"),
        CommandEntry("kill", "end an agent; its work goes to the trash"),
        CommandEntry("undo", "take back the last ending, or a change that landed"),
    ),
}
"""The verbs of `wl help`, by what they are for."""

MORE: tuple[CommandEntry, ...] = (
    CommandEntry("block", "keep a change from landing"),
    CommandEntry("board", "show, check and extend the tasks of .windlass/kanban.md"),
    CommandEntry("config", "read and change configuration"),
    CommandEntry("costs", "show what agents spent"),
    CommandEntry("daemon", "start, stop and inspect the daemon"),
    CommandEntry("demo", "watch a crew at work on a scratch repository"),
    CommandEntry("denials", "show what an agent was not allowed, and what would allow it"),
    CommandEntry("dev", "look into the works, and list the commands that few need"),
    CommandEntry("doctor", "check what this machine has and lacks"),
    CommandEntry("drop", "take a change out of the queue for good"),
    CommandEntry("estop", "end every session at once; work is kept"),
    CommandEntry("exec", "run a command in an agent's workspace"),
    CommandEntry("gate", "show what decides whether a tree is good, and prove a commit by it"),
    CommandEntry("help", "show help"),
    CommandEntry("hooks", "make your own agent session part of the crew, or no longer"),
    CommandEntry("inbox", "list messages, and what became of them"),
    CommandEntry("list", "list the agents", ("ls",)),
    CommandEntry("nuke", "end a whole tree of agents, or all of them"),
    CommandEntry("path", "print the folder of an agent's workspace"),
    CommandEntry("pause", "stop an agent's session and keep everything"),
    CommandEntry("pipeline", "show, check and try the steps that a task goes through"),
    CommandEntry("queue", "show the changes that wait for landing"),
    CommandEntry("reassign", "give an agent another manager"),
    CommandEntry("repo", "add, list and remove repositories"),
    CommandEntry("resume", "go on with a paused or stopped agent"),
    CommandEntry("retry", "try a change, or what was set aside, once more; or take it back"),
    CommandEntry("show", "show a change or an agent, and what to type next"),
    CommandEntry("trash", "list, show, restore and empty salvaged work"),
    CommandEntry("trust", "look at what a repository's configuration asks for, and accept it"),
    CommandEntry("wait", "wait until agents reach a state"),
)
"""What `wl help --all` lists beside these."""


DEV: tuple[CommandEntry, ...] = (
    CommandEntry("explain", "say how a captured screen or a call of a tool is judged", (), "dev"),
    CommandEntry("jobs", "list what waits longer than a command", (), "dev"),
    CommandEntry(
        "lifecycle", "show, check and try the states that a change goes through", (), "dev"
    ),
    CommandEntry("model", "serve a scripted model to the real Claude Code", (), "dev"),
)
"""What looks into the works: `wl dev NAME`. Without `dev` it works as well."""

RARE: tuple[CommandEntry, ...] = (
    CommandEntry("refresh", "rebase agents at rest onto what is proven"),
    CommandEntry("allow", "allow a running agent what it was denied"),
    CommandEntry("acknowledge", "say that messages to you are dealt with", ("ack",)),
    CommandEntry("archive", "list and show archived agents"),
    CommandEntry("ask", "ask the person, or a manager, from inside an agent"),
    CommandEntry("completion", "print a shell completion script"),
    CommandEntry("drivers", "list the agent CLIs, and let one trust your workspaces"),
    CommandEntry("gc", "remove what is older than it is kept, and say how much room that made"),
    CommandEntry("import", "bring a project over from Chief Wiggum, ittybitty or multiclaude"),
    CommandEntry("info", "show everything about an agent"),
    CommandEntry("interrupt", "stop an agent's present turn; its session goes on"),
    CommandEntry("listen", "wait for news of the crew and print it"),
    CommandEntry("merge-check", "say whether a merge would go through"),
    CommandEntry("message", "show or acknowledge a message"),
    CommandEntry("note", "write a line into an agent's log"),
    CommandEntry("notify", "tell the person's own agent that something happened"),
    CommandEntry("plan", "make the file that a task's plan goes into"),
    CommandEntry("questions", "list the questions that wait for your answer"),
    CommandEntry("repair", "take in or put away what no agent accounts for"),
    CommandEntry("tree", "show the agents as a tree"),
    CommandEntry("uninstall", "take Windlass out of this machine and its repositories"),
    CommandEntry("version", "print the version"),
)
"""What is needed now and then, or by programs and agents: `wl dev` lists it as well."""

OLD: tuple[CommandEntry, ...] = (
    CommandEntry("submit", "put what an agent or a branch has into the queue: merge --no-wait"),
    CommandEntry("work", "start an agent whose work lands by itself: new --land"),
)
"""Other names of what options say; no help lists them."""

HOME = CommandEntry("home", "show what needs you, and the crew")
"""What `wl` alone does."""

LISTED: tuple[CommandEntry, ...] = tuple(
    sorted((*(entry for group in SHORT.values() for entry in group), *MORE))
)
"""What `wl help --all` lists."""
ALL: tuple[CommandEntry, ...] = tuple(sorted((*LISTED, *DEV, *RARE, *OLD)))
NAMES: dict[str, CommandEntry] = {
    name: entry for entry in ALL for name in (entry.name, *entry.aliases)
}
EXPERTS: dict[str, CommandEntry] = {entry.name: entry for entry in DEV}
