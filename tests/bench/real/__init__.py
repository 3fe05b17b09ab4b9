"""Measurements with the one real model of the tests, Gemma 3 270M, which lies where ``real_model`` finds it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
