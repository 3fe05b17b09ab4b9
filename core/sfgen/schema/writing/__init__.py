"""The fourth room: the rules that the texts of a schema are written by."""
