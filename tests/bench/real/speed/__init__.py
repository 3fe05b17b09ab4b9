"""How fast texts are written by a constraint, beside other libraries on the same model.

``tasks`` says what is written; ``on_llama_cpp`` and ``on_transformers`` have the engines, each with the interface that
it offers; ``server`` runs them in processes that are asked in turns; ``rounds`` asks them; ``report`` writes the
section. Times are those of the processor, of all threads of the process, the model being run by one.
"""


def section(sketch: bool) -> str:
    """Measure, and return the section ``## Speed``."""
    from .report import report
    from .rounds import LLAMA_CPP, TRANSFORMERS, measured

    return report([measured(LLAMA_CPP, sketch=sketch), measured(TRANSFORMERS, sketch=sketch)])
