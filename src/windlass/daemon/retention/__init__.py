"""For how long things are kept that nobody needs any more, and their removal."""
