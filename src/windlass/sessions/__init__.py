"""The tmux server, the holder that keeps a session alive, and the screens it draws."""
