"""What faces read: agents, their screens and work, the log, roles, trash, archives."""
