"""Published algorithms as a specification that runs: to be read, and to check the fast engine.

* ``naive``: every token is tried at every step (``NaiveIndex``; Louf, Klett and Simpson 2023).
* ``sub_sequences``: Algorithms 3 and 4 of Willard and Louf 2023, the index over a machine of interegular; ``fsm``: that
  machine, and the index as an engine (``FsmIndex``).
* ``sampling``: their Algorithms 1 and 2, tokens from a model freely and with a mask.
* ``words``: the word decoder of Clay 2024.

Beside them: ``guide`` walks a sequence through both engines, ``pending`` and ``classes`` deal with tokens that end
within a character, ``spelling`` and ``agreement`` see to it that ``regex`` and interegular read a pattern as ``re``
does; ``interegular_machine`` is what interegular makes of a pattern.
"""

from sfgen.reference.fsm import FsmIndex, fsm_table, reference_fsm
from sfgen.reference.naive import NaiveIndex
from sfgen.reference.sampling import sample_masked_tokens, sample_tokens
from sfgen.reference.sub_sequences import Machine, find_sub_sequences, map_states_to_vocab
from sfgen.reference.words import FSMDecoder

__all__ = [
    "FSMDecoder",
    "FsmIndex",
    "Machine",
    "NaiveIndex",
    "find_sub_sequences",
    "fsm_table",
    "map_states_to_vocab",
    "reference_fsm",
    "sample_masked_tokens",
    "sample_tokens",
]
