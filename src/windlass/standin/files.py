"""The tools that read and change files, with results shaped like the real ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

LIMIT = 30_000
MATCHES = 100


class ToolResult(msgspec.Struct):
    """What a tool call came to: text for the model, data for hooks."""

    content: str
    response: Any = None
    error: bool = False
    interrupted: bool = False


def failed(problem: str) -> ToolResult:
    """Returns a result that says what went wrong."""
    return ToolResult(problem, error=True)


def clipped(text: str) -> str:
    """Cuts what is too long for a conversation, and says so."""
    if len(text) <= LIMIT:
        return text
    half = LIMIT // 2
    return f"{text[:half]}\n\n... [{len(text) - LIMIT} characters truncated] ...\n\n{text[-half:]}"


def write(tool_input: dict[str, Any], cwd: Path) -> ToolResult:
    """Creates or replaces a file, with the folders above it."""
    path = cwd / tool_input["file_path"]
    before = _text(path) if path.is_file() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(tool_input["content"], encoding="utf-8", newline="")
    kind = "create" if before is None else "update"
    said = "created successfully at" if before is None else "updated successfully:"
    return ToolResult(
        f"File {said} {path}",
        {
            "type": kind,
            "filePath": str(path),
            "content": tool_input["content"],
            "structuredPatch": [],
            "originalFile": before,
            "userModified": False,
        },
    )


def edit(tool_input: dict[str, Any], cwd: Path) -> ToolResult:
    """Replaces one string in a file, or all of them."""
    path = cwd / tool_input["file_path"]
    return _edited(path, [tool_input], tool_input)


def multi_edit(tool_input: dict[str, Any], cwd: Path) -> ToolResult:
    """Makes several replacements in a file, all or none."""
    edits = tool_input["edits"]
    if not isinstance(edits, list) or not all(isinstance(item, dict) for item in edits):
        return failed("InputValidationError: edits must be a list of objects")
    return _edited(cwd / tool_input["file_path"], edits, tool_input)


def read(tool_input: dict[str, Any], cwd: Path) -> ToolResult:
    """Reads a file with numbered lines."""
    path = cwd / tool_input["file_path"]
    if path.is_dir():
        return failed("EISDIR: illegal operation on a directory, read")
    if not path.is_file():
        return failed("File does not exist.")
    lines = _text(path).splitlines()
    first = max(1, int(tool_input.get("offset", 1)))
    chosen = lines[first - 1 :][: int(tool_input.get("limit", 2000))]
    content = "\n".join(f"{n:6d}→{line}" for n, line in enumerate(chosen, first))
    file = {
        "filePath": str(path),
        "content": clipped("\n".join(chosen)),
        "numLines": len(chosen),
        "startLine": first,
        "totalLines": len(lines),
    }
    return ToolResult(clipped(content), {"type": "text", "file": file})


def glob(tool_input: dict[str, Any], cwd: Path) -> ToolResult:
    """Finds files by a pattern."""
    paths = _root(tool_input, cwd).glob(tool_input["pattern"])
    names = sorted(str(path) for path in paths)[:MATCHES]
    return ToolResult(
        "\n".join(names) or "No files found", {"filenames": names, "numFiles": len(names)}
    )


def grep(tool_input: dict[str, Any], cwd: Path) -> ToolResult:
    """Finds the files in which a pattern occurs."""
    try:
        wanted = re.compile(tool_input["pattern"])
    except re.error as error:
        return failed(f"bad pattern: {error}")
    root = _root(tool_input, cwd)
    paths = [root] if root.is_file() else sorted(root.rglob(str(tool_input.get("glob", "*"))))
    names = [
        str(path)
        for path in paths
        if path.is_file() and ".git" not in path.parts and wanted.search(_text(path))
    ][:MATCHES]
    return ToolResult(
        f"Found {len(names)} files\n" + "\n".join(names) if names else "No files found",
        {"mode": "files_with_matches", "filenames": names, "numFiles": len(names)},
    )


def listing(tool_input: dict[str, Any], cwd: Path) -> ToolResult:
    """Lists a folder."""
    root = _root(tool_input, cwd)
    if not root.is_dir():
        return failed(f"{root} is not a directory")
    names = sorted(path.name + "/" * path.is_dir() for path in root.iterdir())
    return ToolResult("\n".join(names) or "(empty)", "\n".join(names))


def todo_write(tool_input: dict[str, Any], _cwd: Path) -> ToolResult:
    """Takes note of a list of things to do."""
    return ToolResult(
        "Todos have been modified successfully.", {"oldTodos": [], "newTodos": tool_input["todos"]}
    )


def _edited(path: Path, edits: list[dict[str, Any]], tool_input: dict[str, Any]) -> ToolResult:
    if not path.is_file():
        return failed("File does not exist.")
    before = after = _text(path)
    for change in edits:
        old, new = str(change.get("old_string", "")), str(change.get("new_string", ""))
        count = after.count(old) if old else 0
        if not count:
            return failed(f"String to replace not found in file.\nString: {old}")
        if count > 1 and not change.get("replace_all"):
            return failed(
                f"Found {count} matches of the string to replace, but replace_all is false."
            )
        after = after.replace(old, new)
    path.write_text(after, encoding="utf-8", newline="")
    return ToolResult(
        f"The file {path} has been updated successfully.",
        {
            "filePath": str(path),
            "oldString": tool_input.get("old_string", ""),
            "newString": tool_input.get("new_string", ""),
            "originalFile": before,
            "structuredPatch": [],
            "userModified": False,
            "replaceAll": bool(tool_input.get("replace_all")),
        },
    )


def _root(tool_input: dict[str, Any], cwd: Path) -> Path:
    return cwd / str(tool_input.get("path") or ".")


def _text(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        return file.read()


FileTool = Callable[[dict[str, Any], Path], ToolResult]
TOOLS: dict[str, tuple[FileTool, tuple[str, ...]]] = {
    "Write": (write, ("file_path", "content")),
    "Edit": (edit, ("file_path", "old_string", "new_string")),
    "MultiEdit": (multi_edit, ("file_path", "edits")),
    "Read": (read, ("file_path",)),
    "Glob": (glob, ("pattern",)),
    "Grep": (grep, ("pattern",)),
    "LS": (listing, ()),
    "TodoWrite": (todo_write, ("todos",)),
}
TEXTS = frozenset({"file_path", "content", "old_string", "new_string", "pattern", "command"})


def missing(tool_input: dict[str, Any], needed: tuple[str, ...]) -> str | None:
    """Says which parameter a call lacks or gives in the wrong type."""
    for key in needed:
        if key not in tool_input:
            return f"InputValidationError: The required parameter `{key}` is missing"
        if key in TEXTS and not isinstance(tool_input[key], str):
            return f"InputValidationError: The parameter `{key}` must be a string"
    return None
