from __future__ import annotations

from windlass.core import errors


def test_every_kind_of_error_can_be_rebuilt_from_its_name() -> None:
    """A face rebuilds the class from the wire, so kinds are distinct and complete."""
    assert {cls.kind for cls in errors.BY_KIND.values()} == set(errors.BY_KIND)
    assert set(errors.WindlassError.__subclasses__()) <= set(errors.BY_KIND.values())


def test_a_failed_program_keeps_its_argv_code_and_last_lines() -> None:
    text = errors.program_failed(["git", "gc"], 128, "\n".join(f"line {n}" for n in range(9)))
    assert text.startswith("`git gc` ended with 128:")
    assert text.endswith("line 8")
    assert "line 3" not in text
