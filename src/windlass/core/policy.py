"""What agents may use before anybody configured anything.

Only lists so far: the agent CLI applies them. Shell commands are allowed as a whole, because a
worker must be able to build and test; what confines them is a box, not a list.
"""

from __future__ import annotations

ALLOWED: tuple[str, ...] = (
    "Read",
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "Glob",
    "Grep",
    "LS",
    "Bash",
    "TodoWrite",
    "Task",
    "WebFetch",
    "WebSearch",
)
DENIED: tuple[str, ...] = ("EnterPlanMode", "ExitPlanMode", "AskUserQuestion")
"""Plan mode and questions stop a crew until a person looks; agents work, or end their turn."""
