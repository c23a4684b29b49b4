"""What is Claude Code's own: screens, output lines, conversation files, usage, settings."""
