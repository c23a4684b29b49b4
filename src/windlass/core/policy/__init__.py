"""What a tool call may do: the lists, the mandatory set, protected paths, the decision."""
