"""The fifth room: what people are told of a schema and of texts: positions, faults, trees, examples."""
