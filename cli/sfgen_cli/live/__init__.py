"""The live view: what happens, drawn while it happens."""
