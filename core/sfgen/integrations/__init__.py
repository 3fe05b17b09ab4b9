"""sfgen inside other people's decode loops.

* :mod:`~sfgen.integrations.transformers`: processors for ``model.generate(...)`` of transformers; they follow the texts
  from call to call.
* :mod:`~sfgen.integrations.vllm`: a processor for vLLM, where each request has a constraint of its own; ``request``
  reads and checks a request, begins its text and follows it.
* :mod:`~sfgen.integrations.ray`: jobs on a cluster.
* :mod:`~sfgen.integrations.llm`: models for the command ``llm``, which finds it by its entry point.

Both processors get the guide of each text from a rule in ``guided``: a constraint or a ban. ``state`` keeps the guide
with the stage of its text, and ``masks`` applies token masks to scores.

``import sfgen`` imports none of these modules: each needs the package that it is for.
"""
