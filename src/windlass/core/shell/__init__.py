"""Lines of a shell: read, and judged. A leaf of core, and frozen.

`line_policy` holds them against lists (strictly, with two readers), `guided` against where they
reach. Neither grows for the sake of one line: a rule is changed where a new set of lines, written
before it, shows a class of them, and the set is kept in `tests/core/shell/lines`.
"""
