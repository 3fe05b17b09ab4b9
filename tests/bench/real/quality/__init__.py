"""Quality: what constraints do to the answers of a small base model, of which the right ones are known."""

from .report import section

__all__ = ["section"]
