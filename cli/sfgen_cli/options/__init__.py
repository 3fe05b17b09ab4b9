"""The options of the commands, and what is read from them."""
