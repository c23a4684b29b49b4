"""Pipelines made by hypothesis, as JSON values, with results for them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

RESULTS = ("PASS", "FAIL", "FIX", "SKIP", "UNKNOWN")


@st.composite
def pipelines(draw: st.DrawFn) -> dict[str, Any]:
    """A sound pipeline of any shape."""
    ids = [f"s{number}" for number in range(draw(st.integers(1, 5)))]
    jump = st.sampled_from(["self", "prev", "next", "abort", *ids])
    handlers = st.builds(lambda to: {"jump": to}, jump)
    bound = st.integers(1, 4)

    def inline() -> dict[str, Any]:
        made: dict[str, Any] = {"id": draw(st.sampled_from(["fix", "mend"])), "agent": "worker"}
        if draw(st.booleans()):
            made["max"] = draw(bound)
        if draw(st.booleans()):
            made["on_max"] = draw(jump)
        if draw(st.booleans()):
            made["on_result"] = draw(st.dictionaries(st.sampled_from(RESULTS), handlers))
        return made

    steps = []
    for name in ids:
        step: dict[str, Any] = {"id": name, "agent": "worker"}
        if draw(st.booleans()):
            step["max"] = draw(bound)
        if draw(st.booleans()):
            step["on_max"] = draw(jump)
        if draw(st.integers(0, 4)) == 0:
            step["enabled_by"] = draw(st.sampled_from(["ONE", "TWO"]))
        if draw(st.booleans()):
            names = draw(st.lists(st.sampled_from(RESULTS), max_size=3, unique=True))
            step["on_result"] = {
                result: inline() if draw(st.booleans()) else draw(handlers) for result in names
            }
        steps.append(step)
    made: dict[str, Any] = {"name": "made", "steps": steps}
    if draw(st.integers(0, 3)) == 0:
        mapping = st.builds(lambda to: {"status": "", "default_jump": to}, jump)
        made["result_mappings"] = draw(st.dictionaries(st.sampled_from(RESULTS), mapping))
    return made


def results(pipeline: dict[str, Any]) -> st.SearchStrategy[dict[str, list[str]]]:
    """Results for its steps and inline steps."""
    names = {step["id"] for step in pipeline["steps"]}
    for step in pipeline["steps"]:
        names |= {made["id"] for made in step.get("on_result", {}).values() if "id" in made}
    given = st.lists(st.sampled_from(RESULTS), max_size=12)
    return st.fixed_dictionaries(dict.fromkeys(sorted(names), given))
