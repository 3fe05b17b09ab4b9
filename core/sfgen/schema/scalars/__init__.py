"""Build automata of JSON strings and numbers, independent of schemas."""
