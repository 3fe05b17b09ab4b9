"""sfgen inside other people's decode loops.

* :mod:`~sfgen.integrations.transformers`: processors for ``model.generate(...)`` of transformers; they follow the texts
  from call to call.
* :mod:`~sfgen.integrations.vllm`: a processor for vLLM, where each request has a constraint of its own; ``request``
  reads and checks a request, begins its text and follows it.
* :mod:`~sfgen.integrations.ray`: jobs on a cluster.
* :mod:`~sfgen.integrations.llm`: models for the command ``llm``, which finds it by its entry point.

Both processors ask a rule of ``guided``, a constraint or a ban, for the guide of each text; ``state`` keeps it with the
stage of its text, and ``masks`` puts token masks on the scores.

Nothing here is imported by ``import sfgen``: these modules need the packages that they are for.
"""
