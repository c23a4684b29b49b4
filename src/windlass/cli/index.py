"""The index of commands: help and completion read it, so neither has to import a command."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command: its name, one line about it, and its other names."""

    name: str
    about: str
    aliases: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The module that implements it."""
        return "windlass.cli.commands." + self.name.replace("-", "_")


SHORT: dict[str, tuple[Entry, ...]] = {
    "start": (
        Entry("init", "set up this repository"),
        Entry("new", "start an agent on a goal", ("new-agent", "spawn")),
        Entry("demo", "watch a crew at work on a scratch repository"),
    ),
    "see": (
        Entry("list", "list the agents", ("ls",)),
        Entry("status", "show commits and uncommitted work"),
        Entry("look", "show an agent's screen"),
        Entry("diff", "show what an agent changed"),
        Entry("why", "say how an agent's state is known"),
        Entry("log", "show what happened"),
    ),
    "steer": (
        Entry("send", "say something to an agent, to several, or to the person"),
        Entry("attach", "join an agent's terminal"),
        Entry("pause", "stop an agent's session and keep everything"),
        Entry("resume", "go on with a paused or stopped agent"),
    ),
    "end": (
        Entry("merge", "merge an agent's branch and end it"),
        Entry("kill", "end an agent; its work goes to the trash"),
        Entry("undo", "take back the last ending or reassignment"),
    ),
}
"""The sixteen verbs of `wl help`, by what they are for."""

REST: tuple[Entry, ...] = (
    Entry("acknowledge", "say that messages to you are dealt with", ("ack",)),
    Entry("answer", "answer an agent's question"),
    Entry("ask", "ask the person, or a manager, from inside an agent"),
    Entry("archive", "list and show archived agents"),
    Entry("completion", "print a shell completion script"),
    Entry("config", "read and change configuration"),
    Entry("costs", "show what agents spent"),
    Entry("daemon", "start, stop and inspect the daemon"),
    Entry("denials", "show what an agent was not allowed, and what would allow it"),
    Entry("doctor", "check what this machine has and lacks"),
    Entry("drivers", "list the agent CLIs, and let one trust your workspaces"),
    Entry("exec", "run a command in an agent's workspace"),
    Entry("explain", "say how a captured screen or a call of a tool is judged"),
    Entry("help", "show help"),
    Entry("hooks", "make your own agent session part of the crew, or no longer"),
    Entry("inbox", "list messages, and what became of them"),
    Entry("info", "show everything about an agent"),
    Entry("interrupt", "stop an agent's present turn; its session goes on"),
    Entry("listen", "wait for news of the crew and print it"),
    Entry("merge-check", "say whether a merge would go through"),
    Entry("message", "show or acknowledge a message"),
    Entry("model", "serve a scripted model to the real Claude Code"),
    Entry("note", "write a line into an agent's log"),
    Entry("notify", "tell the person's own agent that something happened"),
    Entry("nuke", "end a whole tree of agents, or all of them"),
    Entry("path", "print the folder of an agent's workspace"),
    Entry("questions", "list the questions that wait for your answer"),
    Entry("reassign", "give an agent another manager"),
    Entry("repo", "add, list and remove repositories"),
    Entry("trash", "list, show, restore and empty salvaged work"),
    Entry("tree", "show the agents as a tree"),
    Entry("version", "print the version"),
    Entry("wait", "wait until agents reach a state"),
)

HOME = Entry("home", "show what needs you, and the crew")
"""What `wl` alone does."""

ALL: tuple[Entry, ...] = tuple(
    sorted((*(entry for group in SHORT.values() for entry in group), *REST))
)
NAMES: dict[str, Entry] = {name: entry for entry in ALL for name in (entry.name, *entry.aliases)}
