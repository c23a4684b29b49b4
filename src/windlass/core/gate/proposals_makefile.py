"""The targets of a Makefile and of its like, as text. Pure: variables are not resolved."""

from __future__ import annotations

import re

from windlass.core.gate.proposals_project import Project

FILES = ("GNUmakefile", "makefile", "Makefile")
_RULE = re.compile(r"([A-Za-z0-9_./ -]+?)\s*::?(?![=:])(.*)")
_MAX_LINES = 5000


class Makefile:
    """Which targets there are, what each runs and what it needs first."""

    def __init__(self, project: Project) -> None:
        """Reads the Makefile that make would take."""
        self.name = project.first(*FILES)
        self.recipes: dict[str, list[str]] = {}
        self.needs: dict[str, list[str]] = {}
        self.text = project.text(self.name) if self.name else ""
        current: list[str] = []
        for line in self.text.replace("\\\n", " ").splitlines()[:_MAX_LINES]:
            if line.startswith("\t"):
                for target in current:
                    self.recipes[target].append(line.strip().lstrip("@-+"))
                continue
            rule = _RULE.fullmatch(line[:2000].partition("#")[0].rstrip())
            if not rule:
                current = current if not line.strip() else []
                continue
            current = [] if rule[1].startswith(".PHONY") else rule[1].split()
            for target in current:
                self.recipes.setdefault(target, [])
                needs, _, recipe = rule[2].partition(";")
                self.needs.setdefault(target, []).extend(needs.split())
                self.recipes[target] += [recipe.strip()] if recipe.strip() else []

    def lines(self, target: str, depth: int = 0) -> list[str]:
        """What a target runs, with what it needs first."""
        if depth > 5 or target not in self.recipes:
            return []
        before = [line for need in self.needs[target][:30] for line in self.lines(need, depth + 1)]
        return (before + self.recipes[target])[:500]
