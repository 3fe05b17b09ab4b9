"""What every command has: help, completion, messages about wrong command lines, and the terminal."""
