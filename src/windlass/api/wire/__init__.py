"""The types that cross the wire: requests and replies by subject, as plain dictionaries.

Typed dictionaries, because the command line reads them with nothing but the standard library's
JSON, while the daemon checks requests against them with msgspec.
"""
