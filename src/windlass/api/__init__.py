"""The wire: types, the client that faces use, the routes that the daemon serves."""
