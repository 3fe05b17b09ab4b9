"""Token masks of states, by walks of the token trie or of the shapes of tokens, with single states or sets of them."""
