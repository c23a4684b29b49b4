"""Shows, checks and tries pipelines: the steps that a task goes through.

`simulate` says which way a run would go: give results as STEP=RESULT (PASS, FAIL, FIX, SKIP or
UNKNOWN), each used once, in order, per step; inline steps go by their own id, and a step without
one passes. `show --task` says which pipeline a task has: FILE, pipelines/TASK.json, the field
Pipeline on the board, pipeline.json, the configuration (`pipeline`), or the built-in `fast`. FILE
is a file, - for stdin, or a name that `list` shows. None of this needs a daemon.

`roles` lists what steps can name as `agent`: which results each may give, how it runs and for how
long. What a repository's `.windlass/roles/ROLE.md` says in its front matter goes before ours, and
`[roles.ROLE]` of the configuration, shown beside it, before both.

Exit codes: 3 where a pipeline is refused, each reason with its path; 8 where there is no such
pipeline, or no such task on the board.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.api import places
from windlass.cli.call import Call
from windlass.cli.output import write_exactly
from windlass.core import json_text
from windlass.core.board import edits
from windlass.core.errors import ConfigError, UserError
from windlass.core.json_text import Problem
from windlass.core.pipeline import drawings, simulation, spec
from windlass.core.pipeline.steps import Inline, Pipeline, Step
from windlass.core.printable import printable_line
from windlass.project import boards, configuration, drawing_files, folder, pipelines, step_roles

EXAMPLES = (
    "wl pipeline list",
    "wl pipeline show full --mermaid",
    "wl pipeline validate .windlass/pipeline.json",
    "wl pipeline roles security-audit --json",
    "wl pipeline simulate full --results audit=FIX,audit-fix=PASS,test=FAIL --json",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes what to do with which."""
    verbs = parser.add_subparsers(dest="verb", metavar="list|show|validate|simulate|roles")
    verbs.add_parser("list", help="list the pipelines that there are")
    show = verbs.add_parser("show", help="show a pipeline, or draw it")
    show.add_argument("file", nargs="?", metavar="FILE", help="a pipeline (what would run)")
    show.add_argument("--task", metavar="TASK", help="the one that this task goes through")
    show.add_argument(
        "--svg", metavar="OUT", help="write a drawing of it into this file, - for stdout"
    )
    show.add_argument("--mermaid", action="store_true", help="print it as a Mermaid flowchart")
    validate = verbs.add_parser("validate", help="say everything that is wrong with it")
    validate.add_argument("file", metavar="FILE", help="a pipeline")
    roles = verbs.add_parser("roles", help="list the roles of steps, and what each may give")
    roles.add_argument("role", nargs="?", metavar="ROLE", help="one of them")
    simulate = verbs.add_parser("simulate", help="say which way a run would go")
    simulate.add_argument("file", metavar="FILE", help="a pipeline")
    simulate.add_argument(
        "--results", action="append", default=[], metavar="STEP=RESULT,…", help="in their order"
    )
    simulate.add_argument(
        "--enable", action="append", default=[], metavar="VAR", help="a variable that is true"
    )


def run(call: Call) -> int:
    """Does it."""
    verb = call.args.verb or "list"
    if verb == "validate":
        return _validate(call)
    {"list": _list, "show": _show, "simulate": _simulate, "roles": _roles}[verb](call)
    return 0


def _list(call: Call) -> None:
    found = list(pipelines.listed(folder.find()))
    call.data([entry._asdict() for entry in found])
    for entry in found:
        said = call.paint("cannot be read", "red") if entry.problem else ", ".join(entry.steps)
        call.say(f"{printable_line(entry.name):<12} {said}")
        call.say(call.paint(f"  {printable_line(entry.about or entry.origin)}", "dim"))
        if entry.problem:
            call.say(f"  {printable_line(entry.problem)}")


def _show(call: Call) -> None:
    args = call.args
    windlass = folder.find()
    chosen = pipelines.chosen(
        args.task or "",
        windlass,
        command_line=args.file or "",
        config=configuration.pipeline(windlass, places.home()),
    )
    if args.task:
        edits.require(boards.read().board, args.task)
    pipeline = chosen.pipeline
    if args.svg == "-" and not call.json:
        write_exactly(drawings.svg(pipeline))
        return
    if args.svg and args.svg != "-":
        drawing_files.write(args.svg, drawings.svg(pipeline))
    call.data({"origin": chosen.origin, "why": chosen.why, **spec.data(pipeline)})
    if args.mermaid:
        if not call.json:
            write_exactly(drawings.mermaid(pipeline))
    elif args.svg:
        call.tell(f"drawn into {printable_line(args.svg)}")
    else:
        _say(call, pipeline, f"{printable_line(chosen.origin)} ({chosen.why})")


def _roles(call: Call) -> None:
    windlass = folder.find()
    names = [call.args.role] if call.args.role else step_roles.names(windlass)
    found = [step_roles.find(name, windlass) for name in names]
    home = places.home()
    configured = {role.name: configuration.of_role(role.name, windlass, home) for role in found}
    call.data(
        [
            {
                **step_roles.data(role),
                "configured": [said._asdict() for said in configured[role.name]],
            }
            for role in found
        ]
    )
    for role in found:
        call.say(f"{call.paint(role.name, 'bold')}  {printable_line(role.about)}")
        said = [*role.results, role.mode, *([f"{role.turns} turns"] if role.turns else [])]
        said += [f"{role.timeout} s"]
        said += [f"{role.iterations} iterations"] if role.mode == "loop" else []
        said += ["looks only"] if role.readonly else []
        call.say(call.paint(f"  {', '.join(said)}", "dim"))
        for more in configured[role.name]:
            call.say(f"  {printable_line(f'{more.key} = {more.value} by {more.file}')}")


def _say(call: Call, pipeline: Pipeline, origin: str) -> None:
    call.say(f"{call.paint(printable_line(pipeline.name), 'bold')}  {origin}")
    for number, step in enumerate(pipeline.steps, start=1):
        call.say(f"{number:>3}. {step.id}  {printable_line(_about(step))}")
        for result, handler in step.on_result.items():
            if isinstance(handler, str):
                call.say(f"       {result} -> {printable_line(handler)}")
            else:
                _say_inline(call, step, result, handler)
    if pipeline.on_reject:
        call.say(f"a rejected change goes back to {pipeline.on_reject}")


def _say_inline(call: Call, step: Step, result: str, inline: Inline) -> None:
    bound = f"at most {inline.max}, then {inline.on_max}"
    said = f"{step.id}:{inline.id}, {inline.agent}, {bound}"
    call.say(f"       {result} -> {printable_line(said)}")
    for of_inline, jump in inline.on_result.items():
        call.say(f"           {of_inline} -> {printable_line(jump)}")


def _about(step: Step) -> str:
    said = [step.agent, f"at most {step.max}, then {step.on_max}"]
    said += ["looks only"] if step.readonly else []
    said += ["commits"] if step.commit_after else []
    said += [f"only with {step.enabled_by}=true"] if step.enabled_by else []
    return ", ".join(said)


def _validate(call: Call) -> int:
    windlass = folder.find()
    data, origin = pipelines.data_of(call.args.file, windlass)
    try:
        value = json_text.read(data, origin)
    except ConfigError as error:
        problems = [Problem("$", error.message, error.hint)]
    else:
        known = {*step_roles.names(windlass), *configuration.roles(windlass, places.home())}
        problems = spec.check(value, roles=known)[1]
        problems += step_roles.problems(value, windlass)
    errors = sum(problem.level == "error" for problem in problems)
    call.data(
        {
            "file": origin,
            "valid": not errors,
            "problems": [problem._asdict() for problem in problems],
        }
    )
    for problem in problems:
        colour = "red" if problem.level == "error" else "yellow"
        call.say(call.paint(printable_line(str(problem)), colour))
    if not problems:
        call.tell(f"{printable_line(origin)}: nothing wrong")
    return ConfigError.exit_code if errors else 0


def _simulate(call: Call) -> None:
    pipeline = pipelines.read(call.args.file, folder.find())
    done = simulation.simulate(
        pipeline, _results(call.args.results), frozenset(_names(call.args.enable))
    )
    call.data({"visited": done.visited, "outcome": done.outcome, "reason": done.reason})
    for name in done.visited:
        call.say(f"  {name}")
    call.say(f"{call.paint(done.outcome, _COLOURS[done.outcome])}: {done.reason}")
    for name in done.unused:
        call.remark(f"not all results of {name} were used: it was not run so often")


_COLOURS = {"success": "green", "abort": "red", "": "yellow"}


def _names(given: list[str]) -> list[str]:
    return [name.strip() for name in ",".join(given).split(",") if name.strip()]


def _results(given: list[str]) -> list[tuple[str, str]]:
    found = []
    for part in _names(given):
        name, sign, result = part.partition("=")
        if not sign:
            raise UserError(f"--results: {part!r} is no STEP=RESULT", "as in audit=FIX,audit=PASS")
        found.append((name.strip(), result.strip()))
    return found
