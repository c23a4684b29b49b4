"""`wl`, and `python -m windlass`: the command line, from its very first moment.

Ctrl-C while its modules are still being loaded ends it as it ends any program: nothing was asked
for yet, so there is nothing to say, and no traceback either.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signals
else:
    import _signal as signals  # built in: `signal` itself takes as long to load as a key to press


def main() -> int:
    """Loads the command line and runs it; returns its exit code."""
    heard = signals.getsignal(signals.SIGINT)
    if heard is signals.default_int_handler:  # else somebody has it ignored, as nohup and & do
        signals.signal(signals.SIGINT, signals.SIG_DFL)
    from windlass.cli import main as command_line  # noqa: PLC0415 - the reason for this function

    signals.signal(signals.SIGINT, heard)
    return command_line.main()


if __name__ == "__main__":
    sys.exit(main())
