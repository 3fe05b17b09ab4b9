"""Jobs: many prompts in one run, with records, seeds and resume."""
