"""The index of commands: help and completion read it, so neither has to import a command."""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """One command: its name, one line about it, and its other names."""

    name: str
    about: str
    aliases: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The module that implements it."""
        return "windlass.cli.commands." + self.name.replace("-", "_")


SHORT: dict[str, tuple[CommandEntry, ...]] = {
    "start": (
        CommandEntry("init", "set up this repository"),
        CommandEntry("new", "start an agent on a goal", ("new-agent", "spawn")),
    ),
    "see": (
        CommandEntry("list", "list the agents", ("ls",)),
        CommandEntry("status", "show commits and uncommitted work"),
        CommandEntry("look", "show an agent's screen"),
        CommandEntry("diff", "show what an agent changed"),
        CommandEntry("why", "say how an agent's state is known"),
        CommandEntry("log", "show what happened"),
    ),
    "steer": (
        CommandEntry("send", "say something to an agent, to several, or to the person"),
        CommandEntry("attach", "join an agent's terminal"),
        CommandEntry("pause", "stop an agent's session and keep everything"),
        CommandEntry("resume", "go on with a paused or stopped agent"),
    ),
    "end": (
        CommandEntry("merge", "land what an agent or a branch has, proven first"),
        CommandEntry("approve", "let a change land that waits for you"),
        CommandEntry("kill", "end an agent; its work goes to the trash"),
        CommandEntry("undo", "take back the last ending or reassignment"),
    ),
}
"""The sixteen verbs of `wl help`, by what they are for."""

REST: tuple[CommandEntry, ...] = (
    CommandEntry("acknowledge", "say that messages to you are dealt with", ("ack",)),
    CommandEntry("allow", "allow a running agent what it was denied"),
    CommandEntry("answer", "answer an agent's question"),
    CommandEntry("ask", "ask the person, or a manager, from inside an agent"),
    CommandEntry("archive", "list and show archived agents"),
    CommandEntry("block", "keep a change from landing"),
    CommandEntry("completion", "print a shell completion script"),
    CommandEntry("config", "read and change configuration"),
    CommandEntry("costs", "show what agents spent"),
    CommandEntry("daemon", "start, stop and inspect the daemon"),
    CommandEntry("demo", "watch a crew at work on a scratch repository"),
    CommandEntry("denials", "show what an agent was not allowed, and what would allow it"),
    CommandEntry("dev", "look into the works"),
    CommandEntry("doctor", "check what this machine has and lacks"),
    CommandEntry("drop", "take a change out of the queue for good"),
    CommandEntry("drivers", "list the agent CLIs, and let one trust your workspaces"),
    CommandEntry("estop", "end every session at once; work is kept"),
    CommandEntry("exec", "run a command in an agent's workspace"),
    CommandEntry("explain", "say how a captured screen or a call of a tool is judged"),
    CommandEntry("gate", "show what decides whether a tree is good, and prove a commit by it"),
    CommandEntry("gc", "remove what is older than it is kept, and say how much room that made"),
    CommandEntry("help", "show help"),
    CommandEntry("hooks", "make your own agent session part of the crew, or no longer"),
    CommandEntry("inbox", "list messages, and what became of them"),
    CommandEntry("info", "show everything about an agent"),
    CommandEntry("interrupt", "stop an agent's present turn; its session goes on"),
    CommandEntry("listen", "wait for news of the crew and print it"),
    CommandEntry("merge-check", "say whether a merge would go through"),
    CommandEntry("message", "show or acknowledge a message"),
    CommandEntry("model", "serve a scripted model to the real Claude Code"),
    CommandEntry("note", "write a line into an agent's log"),
    CommandEntry("notify", "tell the person's own agent that something happened"),
    CommandEntry("nuke", "end a whole tree of agents, or all of them"),
    CommandEntry("path", "print the folder of an agent's workspace"),
    CommandEntry("queue", "show the changes that wait for landing"),
    CommandEntry("questions", "list the questions that wait for your answer"),
    CommandEntry("reassign", "give an agent another manager"),
    CommandEntry("repair", "take in or put away what no agent accounts for"),
    CommandEntry("repo", "add, list and remove repositories"),
    CommandEntry("retry", "try once more what was set aside or halted, or take it back"),
    CommandEntry("submit", "put what an agent or a branch has into the queue"),
    CommandEntry("trash", "list, show, restore and empty salvaged work"),
    CommandEntry("tree", "show the agents as a tree"),
    CommandEntry("trust", "look at what a repository's configuration asks for, and accept it"),
    CommandEntry("work", "start an agent whose work lands by itself"),
    CommandEntry("version", "print the version"),
    CommandEntry("wait", "wait until agents reach a state"),
)

HOME = CommandEntry("home", "show what needs you, and the crew")
"""What `wl` alone does."""

ALL: tuple[CommandEntry, ...] = tuple(
    sorted((*(entry for group in SHORT.values() for entry in group), *REST))
)
NAMES: dict[str, CommandEntry] = {
    name: entry for entry in ALL for name in (entry.name, *entry.aliases)
}
