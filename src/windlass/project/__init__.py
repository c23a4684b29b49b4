"""The files of a repository's `.windlass` folder, as they lie in somebody's checkout.

Opened, found and changed here, for commands that need no daemon and for the daemon; what they mean
is `core`'s.
"""
