"""What the demo consists of: its project, what it prints while it plays, and its proof."""
