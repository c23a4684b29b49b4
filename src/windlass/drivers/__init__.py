"""One file per agent CLI."""
