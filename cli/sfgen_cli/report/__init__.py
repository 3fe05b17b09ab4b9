"""Reports of commands about existing indexes, files and texts."""
