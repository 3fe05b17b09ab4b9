"""sfgen inside other people's decode loops.

* :mod:`~sfgen.integrations.transformers`: processors for ``model.generate(...)`` of transformers. ``rows`` follows the
  texts from call to call, ``places`` says where each stands, ``guided`` and ``banned`` what may follow there, ``masks``
  puts that on the scores.

Nothing here is imported by ``import sfgen``: these modules need the packages that they are for.
"""
