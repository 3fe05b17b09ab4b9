"""Many prompts in one run: ``--input``."""
