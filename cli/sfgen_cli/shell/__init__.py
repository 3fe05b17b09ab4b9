"""The parts that all commands share: help, completion, messages about wrong command lines, and the terminal."""
