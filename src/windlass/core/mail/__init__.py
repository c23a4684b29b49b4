"""What is said and to whom: messages, notices, reports of states, reminders."""
