"""The scripted model: a loopback server that speaks the Messages API and plays a script."""
