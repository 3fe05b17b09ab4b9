"""Measurements with the one real model of the tests, Gemma 3 270M, found by ``tests/support/real/model.py``."""
