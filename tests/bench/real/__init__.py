"""Measurements with the one real model of the tests, Gemma 3 270M, which lies where ``real_model`` finds it."""
