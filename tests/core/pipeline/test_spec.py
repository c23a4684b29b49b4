"""A pipeline that is wrong is refused with a path and a sentence, whatever it is."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any
from xml.etree import ElementTree  # noqa: ICN001 - our own drawing

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.pipeline.generated import pipelines

from windlass.core.errors import ConfigError
from windlass.core.pipeline import built_in, drawings, spec

DATA = resources.files("windlass.data")
SCHEMA = json.loads((DATA / "pipeline.schema.json").read_text())


def whole(**step: Any) -> dict[str, Any]:
    return {"name": "n", "steps": [{"id": "a", "agent": "worker", **step}]}


def fits(value: Any) -> bool:
    """Whether the schema that ships takes it."""
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(value))


def told(value: Any, **more: Any) -> list[str]:
    return [str(problem) for problem in spec.check(value, **more)[1]]


@pytest.mark.parametrize("name", built_in.NAMES)
def test_what_ships_is_sound_and_its_roles_are_known(name: str) -> None:
    value = json.loads((DATA / "pipelines" / f"{name}.json").read_text())
    assert told(value, roles=built_in.ROLES) == []
    assert fits(value)
    assert value["name"] == name


WRONG: list[tuple[Any, str]] = [
    ([], "$: a pipeline is an object, not a list"),
    ({"steps": [{"id": "a", "agent": "b"}]}, "$.name: missing"),
    ({"name": "n"}, "$.steps: there are no steps"),
    ({"name": "n", "steps": []}, "$.steps: there are no steps"),
    ({"name": "n", "steps": {}}, "$.steps: steps are a list, not an object"),
    ({"name": "n", "steps": [{"id": "a", "agent": "b"}] * 201}, "$.steps: there are 201 steps"),
    ({"name": "n", "steps": ["a"]}, '$.steps[0]: a step is an object, not "a"'),
    ({"name": "n", "steps": [{"agent": "b"}]}, "$.steps[0].id: missing"),
    ({"name": "n", "steps": [{"id": "b"}]}, "$.steps[0].agent: missing"),
    (whole(id="next"), "$.steps[0].id: 'next' is a jump"),
    (whole(id="a=b,c"), '$.steps[0].id: "a=b,c" cannot be'),
    (whole(max=0), "$.steps[0].max: 0 is no bound"),
    (whole(max=True), "$.steps[0].max: true is no bound"),
    (whole(max=None), "$.steps[0].max: null is no bound"),
    (whole(max=1.5), "$.steps[0].max: 1.5 is no bound"),
    (whole(max="3"), '$.steps[0].max: "3" is no bound'),
    (whole(readonly="yes"), "$.steps[0].readonly: "),
    (whole(config=[1]), "$.steps[0].config: not an object but a list"),
    (whole(config=[]), "$.steps[0].config: not an object but a list"),
    (whole(config=0), "$.steps[0].config: not an object but 0"),
    (whole(hooks=3), "$.steps[0].hooks: a step runs no hooks; take them out"),
    (whole(hooks=[{"run": "make"}]), "$.steps[0].hooks: a step runs no hooks; take them out"),
    (whole(hooks={"before": "make"}), "$.steps[0].hooks: a step runs no hooks; take them out"),
    (whole(enabled_by=3), "$.steps[0].enabled_by: not a text but 3"),
    (whole(on_max=3), "$.steps[0].on_max: 3 is no jump"),
    (whole(on_result=[]), "$.steps[0].on_result: not an object but a list"),
    (whole(on_result={"pass": {"jump": "next"}}), "$.steps[0].on_result.pass: 'pass' is no result"),
    (whole(on_result={"FIX": "next"}), "$.steps[0].on_result.FIX: not an object"),
    (whole(on_result={"FIX": {}}), "$.steps[0].on_result.FIX: nothing that follows"),
    (
        whole(on_result={"FIX": {"jump": "next", "id": "x", "agent": "y"}}),
        "$.steps[0].on_result.FIX: a jump and something else",
    ),
    (whole(on_result={"FIX": {"id": "x"}}), "$.steps[0].on_result.FIX.agent: missing"),
    (
        whole(
            on_result={
                "FIX": {"id": "x", "agent": "y", "on_result": {"FIX": {"id": "z", "agent": "y"}}}
            }
        ),
        "$.steps[0].on_result.FIX.on_result.FIX: not a jump",
    ),
    (
        whole(on_result={"FIX": {"id": "x", "agent": "y", "max": -1}}),
        "$.steps[0].on_result.FIX.max: -1 is no bound",
    ),
    ({**whole(), "result_mappings": {"FAIL": "next"}}, "$.result_mappings.FAIL: not an object"),
    (
        {**whole(), "result_mappings": {"FAIL": {"exit_code": "1"}}},
        '$.result_mappings.FAIL.exit_code: "1" is no exit code',
    ),
]
NAMES: list[tuple[Any, str]] = [
    (whole(on_max="b"), "$.steps[0].on_max: no step 'b'"),
    (whole(on_result={"FIX": {"jump": "b"}}), "$.steps[0].on_result.FIX.jump: no step 'b'"),
    (
        whole(on_result={"FIX": {"id": "x", "agent": "y", "on_max": "x"}}),
        "$.steps[0].on_result.FIX.on_max: no step 'x'",
    ),
    (
        {**whole(), "result_mappings": {"FAIL": {"default_jump": "b"}}},
        "$.result_mappings.FAIL.default_jump: no step 'b'",
    ),
    ({**whole(), "on_reject": "b"}, "$.on_reject: no step 'b'"),
    (
        {"name": "n", "steps": [{"id": "a", "agent": "b"}, {"id": "a", "agent": "b"}]},
        "$.steps[1].id: 'a' is the id of $.steps[0] too",
    ),
    (
        whole(on_result={"FIX": {"id": "a", "agent": "y"}}),
        "$.steps[0].on_result.FIX.id: 'a' is the id of $.steps[0] too",
    ),
]


@pytest.mark.parametrize(("value", "words"), [*WRONG, *NAMES])
def test_each_mistake_is_one_sentence_with_its_path(value: Any, words: str) -> None:
    found = told(value)
    assert len(found) == 1
    assert found[0].startswith(words)
    assert "; " in found[0]


@pytest.mark.parametrize(("value", "words"), WRONG)
def test_the_schema_refuses_the_same_shapes(value: Any, words: str) -> None:
    assert not fits(value), words


@settings(max_examples=100, deadline=None)
@given(pipelines())
def test_what_the_loader_takes_the_schema_takes_and_it_is_written_as_it_is_read(value: Any) -> None:
    pipeline, problems = spec.check(value)
    assert pipeline is not None, problems
    assert fits(value)
    again, problems = spec.check(spec.data(pipeline))
    assert again == pipeline, problems
    assert drawings.mermaid(pipeline).startswith("flowchart TD\n")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "steps", "id", "agent", "on_result", "FIX", "max", "jump"]),
            inner,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(json_values | st.builds(lambda inner: {"name": "n", "steps": [inner]}, json_values))
def test_any_json_is_taken_or_refused_with_a_reason(value: Any) -> None:
    pipeline, problems = spec.check(value)
    assert (pipeline is None) == any(problem.level == "error" for problem in problems)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is no JSON: Expecting value in line 1"),
        (b"{", "is no JSON: "),
        (b"\xff\x00", "is no UTF-8 text"),
        (b'{"name": NaN}', "NaN is no number"),
        (b'{"name": "a", "name": "b"}', "the key 'name' stands twice"),
        (b"[" * 100_000, "nested without end"),
        (b'{"a":' * 100_000, "nested without end"),
        (b'{"name": "n", "steps": [{"id": "a", "agent": "b", "max": 1e999}]}', "is out of range"),
        (b"1" * 5000, "is no JSON"),
    ],
)
def test_text_that_is_no_pipeline_is_refused_in_a_sentence(data: bytes, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        spec.parse(data, "x.json")
    assert words in refused.value.message
    assert "x.json" in refused.value.message


def test_unknown_roles_are_named_where_roles_are_known_and_unknown_keys_are_a_warning() -> None:
    assert told(whole(), roles={"worker"}) == []
    assert told(whole(agent="nobody"), roles={"worker"})[0].startswith(
        '$.steps[0].agent: no role "nobody"'
    )
    pipeline, problems = spec.check(whole(timeout=3))
    assert pipeline is not None
    assert str(problems[0]).startswith("$.steps[0].timeout: warning: unknown key")


def test_a_drawing_shows_every_step_and_lets_no_name_out_of_its_place() -> None:

    value = {
        "name": "<b>&\x1b",
        "steps": [
            {"id": "a", "agent": '"><script>', "enabled_by": "X", "on_max": "abort"},
            {
                "id": "b",
                "agent": "w]",
                "on_result": {"FIX": {"id": "c", "agent": "d"}, "FAIL": {"jump": "a"}},
            },
        ],
    }
    pipeline, _ = spec.check(value)
    assert pipeline is not None
    drawn = ElementTree.fromstring(drawings.svg(pipeline))  # noqa: S314 - our own drawing
    words = " ".join(text for text in drawn.itertext() if text)
    assert all(
        name in words for name in ("a", "b", "FIX: c (d, at most 3)", '"><script>', "success")
    )
    assert "<script>" not in drawings.mermaid(pipeline)
