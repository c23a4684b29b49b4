"""What the demo consists of: its project, the person whom it plays, and its proof."""
