"""A second reading of shell lines, by tree-sitter's grammar of bash.

Two readers that were written apart have to find the same commands: where one of them goes wrong,
the other does not go wrong in the same way. Here-documents are left to the first, because this
grammar loses its way behind some of them; it sees the line without.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from windlass.core.shell.steps import Steps
from windlass.core.shell.tree import Broken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Language, Node

_KNOWN = frozenset(
    (
        *("program", "list", "pipeline", "subshell", "compound_statement", "negated_command"),
        *("redirected_statement", "file_redirect", "herestring_redirect", "file_descriptor"),
        *("if_statement", "elif_clause", "else_clause", "while_statement", "for_statement"),
        *("do_group", "case_statement", "case_item", "command", "command_name", "comment"),
        *("declaration_command", "unset_command", "test_command", "test_operator", "regex"),
        *("variable_assignment", "variable_assignments", "variable_name", "subscript", "array"),
        *("word", "number", "string", "string_content", "raw_string", "ansi_c_string"),
        *("concatenation", "brace_expression", "extglob_pattern", "special_variable_name"),
        *("simple_expansion", "expansion", "command_substitution", "process_substitution"),
        *("arithmetic_expansion", "binary_expression", "unary_expression", "ternary_expression"),
        *("postfix_expression", "parenthesized_expression"),
    )
)


_FOREIGN = re.compile(r"[^\x00-\x7f]")


def names(text: str, steps: Steps | None = None) -> list[str]:
    """The names of all commands, as they are written; raises Broken, and TooLong."""
    import tree_sitter  # noqa: PLC0415 - only who judges a line pays for it

    # What the parser itself costs is bounded by the length of what it is given: nothing asks it to
    # stop half way.
    steps = steps or Steps()
    steps.take(len(text))
    # It looks characters up in tables of the C library that end at 255, and a line with others can
    # end the process. To a shell they are parts of words and never of names, like a dot.
    source = _FOREIGN.sub(".", text).encode()
    tree = tree_sitter.Parser(_language()).parse(source)  # a parser is for one at a time
    if tree.root_node.has_error:
        raise Broken("it is no shell to a second reader")
    return [text[start:end] for start, end in _found(tree.root_node, source, steps)]


def _found(root: Node, source: bytes, steps: Steps) -> Iterator[tuple[int, int]]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        steps.take(2)
        if node.is_named and node.type not in _KNOWN:
            raise Broken(f"it holds a {node.type}")
        waiting += node.children
        name: Node | None = None
        if node.type == "command":
            words = [c for c in node.children if c.type != "variable_assignment"]
            words = [c for c in words if not c.type.endswith("redirect")]
            if words and words[0].text == b"time":
                words = [c for c in words[1:] if c.text not in (b"-p", b"--")]
            name = words[0] if words else None
        elif node.type in ("declaration_command", "unset_command"):
            name = node.children[0]
        elif node.type == "test_command" and source[node.start_byte : node.start_byte + 2] != b"[[":
            name = node.children[0] if node.children[0].type == "[" else None
        if name is not None:
            yield name.start_byte, name.end_byte


@lru_cache(maxsize=1)
def _language() -> Language:
    import tree_sitter  # noqa: PLC0415
    import tree_sitter_bash  # noqa: PLC0415

    return tree_sitter.Language(tree_sitter_bash.language())
