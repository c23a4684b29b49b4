"""Boards made by hypothesis: sound ones, and text that is only somewhat like a board."""

from __future__ import annotations

from hypothesis import strategies as st

PREFIXES = ("AA", "BB", "Feature")


@st.composite
def sound_boards(draw: st.DrawFn) -> str:
    """A board without mistakes; dependencies lead anywhere, also in a circle."""
    count = draw(st.integers(0, 9))
    ids = [f"{draw(st.sampled_from(PREFIXES))}-{number:02}" for number in range(1, count + 1)]
    done = draw(st.lists(st.sampled_from([*ids, "OLD-1", "OLD-2"]), max_size=2, unique=True))
    lines = ["# A board", "", "- [ ] **[AA-99]** not below the heading", "", "## TASKS"]
    for name in ids:
        others = [other for other in [*ids, *done] if other != name]
        needs = draw(st.lists(st.sampled_from(others), max_size=3, unique=True)) if others else []
        lines += [
            f"- [{draw(st.sampled_from('   =Px*N'))}] **[{name}]** title of {name}",
            f"  - Priority: {draw(st.sampled_from(['CRITICAL', 'HIGH', 'MEDIUM', 'LOW']))}",
            f"  - Dependencies: {', '.join(needs) or 'none'}",
            *draw(st.sampled_from([[], [""], ["  - Scope:", "    - [ ] **[AA-98]** an item"]])),
        ]
    if done:
        lines.append(f"<!-- done: {', '.join(done)} -->")
    return "\n".join([*lines, "", "## Notes", "- [ ] **[AA-97]** no task", ""])


PIECES = (
    *("## TASKS", "## Other", "# Top", "### Phase", "## Tasks ##", "```", "~~~py", "<!--", "-->"),
    *("- [ ] **[AA-1]** one", "- [x] **[AA-2]** two\t", "- [X] **[AA-3]** x", "* [ ] **[AA-4]** y"),
    *(
        "- [ ] **[A-1]** bad",
        "- [ ] no id",
        "\t- Priority: LOW",
        "  - Priority: HIGH",
        "  - Priority:",
    ),
    *(
        "  - Dependencies: none",
        "  - Dependencies: AA-1, AA-2",
        "    - item",
        "      - deep",
        "  text",
    ),
    *(
        "<!-- done: AA-1, -->",
        " - [ ] **[AA-5]** in",
        "\u00e9\u2028\x0b\x85",
        "\ufeff",
        "\udcff",
        "\0",
    ),
)


def loose_boards() -> st.SearchStrategy[str]:
    """Text made of pieces of boards and of anything, with every kind of line end."""
    piece = st.sampled_from(PIECES) | st.text(max_size=12)
    end = st.sampled_from(["\n", "\r\n", "\n\n", "\r", ""])
    return st.lists(st.tuples(piece, end), max_size=25).map(
        lambda pairs: "".join(text + end for text, end in pairs)
    )
