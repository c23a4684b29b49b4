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


def write(given: dict[str, Any], cwd: Path) -> ToolResult:
    """Creates or replaces a file, with the folders above it."""
    path = cwd / given["file_path"]
    before = _text(path) if path.is_file() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(given["content"], encoding="utf-8", newline="")
    kind = "create" if before is None else "update"
    said = "created successfully at" if before is None else "updated successfully:"
    return ToolResult(
        f"File {said} {path}",
        {
            "type": kind,
            "filePath": str(path),
            "content": given["content"],
            "structuredPatch": [],
            "originalFile": before,
            "userModified": False,
        },
    )


def edit(given: dict[str, Any], cwd: Path) -> ToolResult:
    """Replaces one string in a file, or all of them."""
    path = cwd / given["file_path"]
    return _edited(path, [given], given)


def multi_edit(given: dict[str, Any], cwd: Path) -> ToolResult:
    """Makes several replacements in a file, all or none."""
    edits = given["edits"]
    if not isinstance(edits, list) or not all(isinstance(item, dict) for item in edits):
        return failed("InputValidationError: edits must be a list of objects")
    return _edited(cwd / given["file_path"], edits, given)


def read(given: dict[str, Any], cwd: Path) -> ToolResult:
    """Reads a file with numbered lines."""
    path = cwd / given["file_path"]
    if path.is_dir():
        return failed("EISDIR: illegal operation on a directory, read")
    if not path.is_file():
        return failed("File does not exist.")
    lines = _text(path).splitlines()
    first = max(1, int(given.get("offset", 1)))
    chosen = lines[first - 1 :][: int(given.get("limit", 2000))]
    content = "\n".join(f"{n:6d}→{line}" for n, line in enumerate(chosen, first))
    file = {
        "filePath": str(path),
        "content": clipped("\n".join(chosen)),
        "numLines": len(chosen),
        "startLine": first,
        "totalLines": len(lines),
    }
    return ToolResult(clipped(content), {"type": "text", "file": file})


def glob(given: dict[str, Any], cwd: Path) -> ToolResult:
    """Finds files by a pattern."""
    found = sorted(str(path) for path in _root(given, cwd).glob(given["pattern"]))[:MATCHES]
    return ToolResult(
        "\n".join(found) or "No files found", {"filenames": found, "numFiles": len(found)}
    )


def grep(given: dict[str, Any], cwd: Path) -> ToolResult:
    """Finds the files in which a pattern occurs."""
    try:
        wanted = re.compile(given["pattern"])
    except re.error as error:
        return failed(f"bad pattern: {error}")
    root = _root(given, cwd)
    paths = [root] if root.is_file() else sorted(root.rglob(str(given.get("glob", "*"))))
    found = [
        str(path)
        for path in paths
        if path.is_file() and ".git" not in path.parts and wanted.search(_text(path))
    ][:MATCHES]
    return ToolResult(
        f"Found {len(found)} files\n" + "\n".join(found) if found else "No files found",
        {"mode": "files_with_matches", "filenames": found, "numFiles": len(found)},
    )


def listing(given: dict[str, Any], cwd: Path) -> ToolResult:
    """Lists a folder."""
    root = _root(given, cwd)
    if not root.is_dir():
        return failed(f"{root} is not a directory")
    names = sorted(path.name + "/" * path.is_dir() for path in root.iterdir())
    return ToolResult("\n".join(names) or "(empty)", "\n".join(names))


def todo_write(given: dict[str, Any], _cwd: Path) -> ToolResult:
    """Takes note of a list of things to do."""
    return ToolResult(
        "Todos have been modified successfully.", {"oldTodos": [], "newTodos": given["todos"]}
    )


def _edited(path: Path, edits: list[dict[str, Any]], given: dict[str, Any]) -> ToolResult:
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
            "oldString": given.get("old_string", ""),
            "newString": given.get("new_string", ""),
            "originalFile": before,
            "structuredPatch": [],
            "userModified": False,
            "replaceAll": bool(given.get("replace_all")),
        },
    )


def _root(given: dict[str, Any], cwd: Path) -> Path:
    return cwd / str(given.get("path") or ".")


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


def missing(given: dict[str, Any], needed: tuple[str, ...]) -> str | None:
    """Says which parameter a call lacks or gives in the wrong type."""
    for key in needed:
        if key not in given:
            return f"InputValidationError: The required parameter `{key}` is missing"
        if key in TEXTS and not isinstance(given[key], str):
            return f"InputValidationError: The parameter `{key}` must be a string"
    return None
