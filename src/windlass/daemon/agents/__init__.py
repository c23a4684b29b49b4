"""What is done to agents: spawn, pause, resume, reassign, note, interrupt, merge, end, undo."""
