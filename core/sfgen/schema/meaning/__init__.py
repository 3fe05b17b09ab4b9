"""The third room: what a schema means. References and combinators become branches, and these typed groups."""
