"""What the gate concludes from data: how many tests a run executed, and which of them failed."""
