"""Read a schema from any of its forms, check it, and resolve its references."""
