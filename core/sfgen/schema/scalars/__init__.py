"""The first room: strings and numbers as automata of their written forms. It knows nothing of schemas."""
