"""How changes land: proposed, tried in the gate, moved onto the target, or sent back."""
