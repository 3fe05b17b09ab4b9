"""sfgen inside other people's decode loops.

* :mod:`~sfgen.integrations.transformers`: processors for ``model.generate(...)`` of transformers. ``row_tracker``
  follows the texts from call to call and keeps a guide of each (``state``); the guides come from ``guided`` and
  ``banned``, and ``masks`` puts their token masks on the scores.
* :mod:`~sfgen.integrations.vllm`: a processor for vLLM, where each request has a constraint of its own. ``request``
  reads and checks what it asks for, and ``request_texts`` begins its text and follows it.

Nothing here is imported by ``import sfgen``: these modules need the packages that they are for.
"""
