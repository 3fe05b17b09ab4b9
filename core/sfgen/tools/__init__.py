"""Tool calls as a constraint, in the form that a model was trained on."""
