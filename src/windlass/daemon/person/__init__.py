"""The person's own agent session and checkout: its hooks, its news, its status files."""
