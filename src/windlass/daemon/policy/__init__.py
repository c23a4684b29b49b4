"""What agents may do: decisions about tool calls, what a role grants, what was denied."""
