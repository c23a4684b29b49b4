"""Asking the model on behalf of boxed agents, which hold no key."""
