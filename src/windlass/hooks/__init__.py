"""What agent CLIs call. Standard library only; imports nothing of ours."""
