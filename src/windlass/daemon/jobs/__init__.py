"""Jobs in the store: kept, advanced and listed; what each kind does is its own room's."""
