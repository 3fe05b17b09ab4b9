"""Ray, where it is installed."""

from __future__ import annotations

from typing import Any

from sfgen.errors import ModelError
from sfgen.schema.scalars.formats import jsonschema


def installed_ray() -> Any:
    """Import Ray with Ray Data and return it.

    Ray imports the package jsonschema.

    Raises:
        ModelError: It is not installed.
    """
    try:
        jsonschema()  # of itself it would take a second more
        import ray
        import ray.data
    except ImportError as error:
        raise ModelError(f"Ray is not installed: {error}", hint="pip install 'sfgen[ray]'") from None
    return ray
