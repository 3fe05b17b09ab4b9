"""Write the rules of a grammar for a schema."""
