"""What commands tell about indexes, files and texts that are there already."""
