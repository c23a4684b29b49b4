"""`wl` and `python -m windlass`: the command line, from its first import on."""

import sys


def main() -> int:
    """Runs one command line; Ctrl-C before there is a command is as quiet as during one."""
    try:
        from windlass.cli.main import main as run  # noqa: PLC0415 - so that it can be interrupted
    except KeyboardInterrupt:
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
