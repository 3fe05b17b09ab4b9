"""The token mask of a state, made in four ways: alone, from few tokens, with other states, by the shapes of tokens."""
