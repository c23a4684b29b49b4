"""A second reading of what a pipeline does: on the bare JSON, from the text of the rules alone."""

from __future__ import annotations

from typing import Any


def simulate(  # noqa: C901, PLR0915 - one walk, so that it can be read beside the rules
    pipeline: dict[str, Any], results: dict[str, list[str]], enabled: set[str]
) -> tuple[list[str], str]:
    """The steps that are visited, and how it ends."""
    steps = pipeline["steps"]
    left = {name: list(given) for name, given in results.items()}
    visits: dict[str, int] = {}
    history: dict[str, list[str]] = {step["id"]: [] for step in steps}
    visited: list[str] = []

    def take(name: str) -> str:
        return left[name].pop(0) if left.get(name) else "PASS"

    def go(at: int, jump: str) -> int | str:
        if jump == "self":
            return at
        if jump == "prev":
            return at - 1 if at > 0 else at
        if jump == "next":
            return at + 1
        if jump == "abort":
            return "abort"
        return next(n for n, step in enumerate(steps) if step["id"] == jump)

    at: int | str = 0
    passed: list[str] = []
    while True:
        if at == "abort":
            return visited, "abort"
        assert isinstance(at, int)
        if at == len(steps):
            return visited, "success"
        step = steps[at]
        name = step["id"]
        if "enabled_by" in step and step["enabled_by"] not in enabled:
            at += 1
            continue
        if visits.get(name, 0) == step.get("max", 3):
            if name in passed:
                return visited, "abort"
            passed.append(name)
            at = go(at, step.get("on_max", "next"))
            continue
        passed = []
        visits[name] = visits.get(name, 0) + 1
        visited.append(name)
        result = take(name)
        history[name].append(result)
        if result in ("FIX", "UNKNOWN") and history[name][-3:] == [result] * 3:
            result = "FAIL"
        handler = step.get("on_result", {}).get(result)
        if handler is None:
            jump = pipeline.get("result_mappings", {}).get(result, {}).get("default_jump")
            jump = jump or {"PASS": "next", "FAIL": "abort", "FIX": "prev", "SKIP": "next"}.get(
                result, "abort"
            )
            at = go(at, jump)
        elif "jump" in handler:
            at = go(at, handler["jump"])
        else:
            key = f"{name} {result}"
            if visits.get(key, 0) == handler.get("max", 3):
                at = go(at, handler.get("on_max", "next"))
                continue
            visits[key] = visits.get(key, 0) + 1
            visited.append(f"{name}:{handler['id']}")
            history[name].append("an inline step ran")
            after = handler.get("on_result", {}).get(take(handler["id"]))
            at = go(at, after["jump"] if after else "self")
