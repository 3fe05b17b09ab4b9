"""Published algorithms as a specification that runs: to be read, and to check the fast engine.

* ``naive``: every token is tried at every step (``NaiveIndex``; Louf, Klett and Simpson 2023).
* ``published``: Algorithms 1 to 4 of Willard and Louf 2023, and the word decoder of Clay 2024.
* ``fsm``: their index over a machine of interegular, as an engine (``FsmIndex``).
* ``interegular_machine``: interegular's machine of a pattern, and whether it reads the pattern as ``re`` does.
* ``guide``: the guide of both engines, and tokens that end within a character.
"""

from sfgen.reference.fsm import FsmIndex, fsm_table, reference_fsm
from sfgen.reference.naive import NaiveIndex
from sfgen.reference.published import (
    FSMDecoder,
    Machine,
    find_sub_sequences,
    map_states_to_vocab,
    sample_masked_tokens,
    sample_tokens,
)

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
