"""The token mask of a state, made in four ways: alone, from few tokens, with many states at once, by token shapes."""
