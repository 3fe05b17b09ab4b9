"""The second room: a schema is read, from whatever it comes as, checked, and its references are resolved."""
