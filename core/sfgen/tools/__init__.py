"""Calls of tools in the form that a model was trained on."""
