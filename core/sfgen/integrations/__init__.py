"""sfgen inside other people's decode loops.

* :mod:`~sfgen.integrations.transformers`: processors for ``model.generate(...)`` of transformers. ``row_tracker`` follows
  the texts from call to call, ``state`` says what it keeps of each: a guide; these come from ``guided`` and ``banned``,
  and ``masks`` puts their masks on the scores.

Nothing here is imported by ``import sfgen``: these modules need the packages that they are for.
"""
