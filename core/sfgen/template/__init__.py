"""Templates: literal text with holes that a model fills, as a constraint."""
