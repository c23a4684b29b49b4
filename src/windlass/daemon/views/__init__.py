"""What faces read: agents, logs, screens, trash, archives, the event stream."""
