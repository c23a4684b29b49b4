"""What the gate runs."""
