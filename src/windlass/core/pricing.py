"""What models cost, and which budgets are spent. Pure: the daemon reads the files and the sums.

The table that comes with Windlass says what Claude Code itself reckons with. A person's own table
goes on top of it, model by model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

from windlass.core import shapes
from windlass.core.claude.usage import canonical
from windlass.core.config import BudgetSettings
from windlass.core.errors import ConfigError
from windlass.core.usage import Usage, UsageReport

Usd = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
_SAID = {"limits.usd": "--max-budget"}
"""Limits that people know by another name."""
_HINT = "docs/costs.md describes the format; without the file the built-in prices hold"


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """USD for a million tokens; what is left out of the cache follows from the input.

    `web_search` is USD for one search, `fast` by how much everything is dearer in fast mode.
    """

    input: Usd
    output: Usd
    cache_write_5m: Usd | None = None
    cache_write_1h: Usd | None = None
    cache_read: Usd | None = None
    web_search: Usd = 0.01
    fast: Annotated[float, msgspec.Meta(ge=0, le=100)] = 1.0

    def of(self, used: Usage) -> float:
        """Prices usage of one model, in USD."""
        write_5m = 1.25 * self.input if self.cache_write_5m is None else self.cache_write_5m
        write_1h = 2 * self.input if self.cache_write_1h is None else self.cache_write_1h
        read = 0.1 * self.input if self.cache_read is None else self.cache_read
        tokens = (
            used.input_tokens * self.input
            + used.output_tokens * self.output
            + (used.cache_creation_input_tokens - used.cache_1h_tokens) * write_5m
            + used.cache_1h_tokens * write_1h
            + used.cache_read_input_tokens * read
        )
        return tokens / 1e6 * (self.fast if used.fast else 1) + used.web_searches * self.web_search


class Table(msgspec.Struct, frozen=True):
    """Prices by model; `own` are those that a person set."""

    models: dict[str, Price]
    default: Price | None
    own: frozenset[str] = frozenset()

    def find(self, model: str) -> tuple[str, Price]:
        """Finds the entry with the longest name that begins the model's, else `default`."""
        name = canonical(model)
        fitting = [key for key in self.models if _begins(name, key)]
        if fitting:
            key = max(fitting, key=len)
            return key, self.models[key]
        if self.default is None:
            raise AssertionError(model)  # only a layer lacks it, never the table in force
        return "default", self.default

    def cost(self, model: str, used: Usage) -> float:
        """What some usage of a model costs."""
        return self.find(model)[1].of(used)

    def cost_reported(self, report: UsageReport) -> float:
        """What a session's own report costs: as it says, unless a person knows better."""
        key, price = self.find(report.model)
        if report.cost is None or key in self.own:
            return price.of(report.usage)
        return report.cost

    def overlaid(self, own: Table) -> Table:
        """This table with a person's own on top."""
        names = {*own.models, *(("default",) if own.default else ())}
        merged = {**self.models, **own.models}
        return Table(models=merged, default=own.default or self.default, own=frozenset(names))


def parse(data: bytes, origin: str) -> Table:
    """Reads a price table, or says which place of it is wrong."""
    try:
        whole = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ConfigError(f"{origin} is not valid JSON: {error}", _HINT) from None
    if not isinstance(whole, Mapping) or not isinstance(whole.get("models", {}), Mapping):
        raise ConfigError(f"{origin}: expected an object with `models` and `default`", _HINT)
    if unknown := sorted(set(whole) - {"models", "default"}):
        raise ConfigError(f"{origin}: unknown key {unknown[0]!r}", _HINT)
    models = {
        canonical(name): _price(item, f"{origin}: models.{name}")
        for name, item in whole.get("models", {}).items()
    }
    default = _price(whole["default"], f"{origin}: default") if "default" in whole else None
    return Table(models=models, default=default)


def _price(item: Any, place: str) -> Price:
    try:
        return shapes.convert(item, Price)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{place}: {error}", _HINT) from None


def _begins(name: str, key: str) -> bool:
    """Whether a name goes on after the key at a boundary: 4-1 does not begin 4-10."""
    return name.startswith(key) and not name[len(key) : len(key) + 1].isalnum()


OF_RUN, OF_STEP = "budget.run", "budget.step"
"""Budgets of what a run does: who has spent one is ended by its run instead of being paused."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What was spent, in USD: by an agent ever, in its repository ever, by everybody today."""

    agent: float
    repo: float
    day: float
    step: float = 0.0
    """In this visit of a step, where the agent is a run's."""
    task: str = ""
    """The task of that run."""


class Exceeded(msgspec.Struct, frozen=True, kw_only=True):
    """A budget that is spent: its name, a sentence about it, and how to raise it."""

    budget: str
    sentence: str
    hint: str


def common(spent: Iterable[tuple[float, float | None]]) -> float:
    """What counts towards a budget of many: what each has spent, up to its own limit.

    What an agent spends is read from files that it can write: beyond its own limit a report is
    evidence about that agent alone, which is paused for it. No limit and zero are none.
    """
    return sum(min(usd, limit) if limit else usd for usd, limit in spent)


def judge(
    figures: Figures, budget: BudgetSettings, *, agent: str | None, own: float | None, repo: str
) -> list[Exceeded]:
    """Lists the budgets that are spent; zero is no limit.

    A limit of the agent's own stands instead of the common one. Without an agent only those are
    judged that hold for everybody.
    """
    whose = f"agent {agent}"
    checks: list[tuple[str, str, float, float | None]] = []
    if agent is not None and own is not None:
        checks.append(("limits.usd", f"{whose} has spent", figures.agent, own))
    elif agent is not None:
        checks.append(("budget.agent", f"{whose} has spent", figures.agent, budget.agent))
    if figures.task:
        run, visit = f"the run of {figures.task}", f"this visit of a step of {figures.task}"
        checks.append((OF_RUN, f"{run} has cost", figures.agent, budget.run))
        checks.append((OF_STEP, f"{visit} has cost", figures.step, budget.step))
    checks.append(("budget.repo", f"all agents of {repo} have spent", figures.repo, budget.repo))
    checks.append(("budget.day", "all agents have today spent", figures.day, budget.day))
    return [
        Exceeded(
            budget=name,
            sentence=f"{who} {spent:.2f} of {limit:.2f} USD ({_SAID.get(name, name)})",
            hint=_raising(name, spent, limit, agent),
        )
        for name, who, spent, limit in checks
        if limit and spent >= limit
    ]


def room(figures: Figures, budget: BudgetSettings, *, own: float | None) -> float | None:
    """What is left until the first budget of an agent is spent; None where it has none."""
    limits = (
        (figures.agent, budget.agent if own is None else own),
        (figures.repo, budget.repo),
        (figures.day, budget.day),
        (figures.agent, budget.run if figures.task else None),
        (figures.step, budget.step if figures.task else None),
    )
    return min((limit - spent for spent, limit in limits if limit), default=None)


def sentences(exceeded: Iterable[Exceeded]) -> str:
    """Says every budget that is spent, in one line."""
    return "; ".join(budget.sentence for budget in exceeded)


def _raising(name: str, spent: float, limit: float, agent: str | None) -> str:
    higher = limit
    while higher <= spent:
        higher *= 2
    if name == "limits.usd":
        return f"raise it: wl resume {agent} --max-budget {higher:g}"
    option = " --global" if name == "budget.day" else ""
    return f"raise it: wl config set {name} {higher:g}{option}"
