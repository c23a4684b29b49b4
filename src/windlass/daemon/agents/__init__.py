"""What is done to agents: spawn, pause, resume, reassign, interrupt, merge, end, restore."""
