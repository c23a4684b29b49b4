"""What was typed before, and what is typed now."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """An old command, and the new one."""

    old: str
    new: str


def _pairs(text: str) -> tuple[Pair, ...]:
    halves = (line.split(" => ") for line in text.strip().splitlines())
    return tuple(Pair(old.strip(), new.strip()) for old, new in halves)


RALPH = _pairs("""
wiggum init => wl init
wiggum run => wl run
wiggum run --max-workers N => wl run --max-workers N
wiggum start TASK-001 => wl run --tasks TASK-001
wiggum status => wl
wiggum validate => wl board validate
wiggum plan TASK-001 => wl plan TASK-001
wiggum resume TASK-001 => wl retry TASK-001
wiggum stop => wl pause run
wiggum kill TASK-001 => wl kill task-001
wiggum clean => wl gc
wiggum review => wl approve
wiggum monitor => wl watch
wiggum inspect worker TASK-001 => wl show TASK-001
wiggum inspect pipeline => wl pipeline show
wiggum inspect agents => wl pipeline roles
wiggum inspect activity TASK-001 => wl log TASK-001
WIGGUM_LOG_LEVEL=debug wiggum run => wl run -v
""")

ITTYBITTY = _pairs("""
ib new-agent "goal" => wl new "goal"
ib list => wl list
ib tree => wl tree
ib look ID => wl look ID
ib send ID "text" => wl send ID "text"
ib status ID => wl status ID
ib diff ID => wl diff ID
ib merge ID --force => wl merge ID --force
ib kill ID --force => wl kill ID --force
ib resume ID => wl resume ID
ib nuke => wl nuke
ib log "text" => wl note "text"
ib ask "question" => wl ask "question"
ib questions => wl questions
ib acknowledge QID => wl acknowledge QID
ib hooks install => wl hooks install
ib hooks status => wl hooks status
ib hooks uninstall => wl hooks uninstall
ib watch => wl watch
ib test-tool-allowed FILE => wl dev explain tool FILE
ib parse-state FILE => wl dev explain screen FILE
""")

MULTICLAUDE = _pairs("""
multiclaude start => wl daemon start
multiclaude daemon status => wl daemon status
multiclaude init URL => git clone URL, then wl init in it
multiclaude list => wl repo list
multiclaude work "task" => wl work "task"
multiclaude work list => wl list
multiclaude work rm NAME => wl kill NAME
multiclaude attach NAME => wl attach NAME
multiclaude review PR => wl diff CHANGE, then wl approve CHANGE
multiclaude agent send-message NAME "text" => wl send NAME "text"
multiclaude agent send-message --all "text" => wl send all "text"
multiclaude agent list-messages => wl inbox
multiclaude agent ack-message ID => wl message ack ID
multiclaude agent complete => a last line I HAVE COMPLETED THE GOAL
/refresh => wl refresh
/status => wl status
/workers => wl list
/messages => wl inbox
""")
