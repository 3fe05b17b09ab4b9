"""Errors of the library that no command line leads to, each with the reason."""

from __future__ import annotations

_LIBRARY = "callers of the library can do this; no command does"
_REFUSED = "the command line refuses it before"
_CAUGHT = "it is caught: the ban then works token by token"
_ASKED_RIGHT = "a run asks for nothing but what was allowed"

# (end of the file's path, a piece of what is said, why)
OUT_OF_REACH: list[tuple[str, str, str]] = [
    ("automata/algebra.py", "cannot be part of a concatenation", _LIBRARY),
    ("automata/by_character.py", "the automaton needs a table", _CAUGHT),
    ("automata/by_character.py", "the automaton may pass the limit", _CAUGHT),
    ("ban/product.py", "passes its budget", _CAUGHT),
    ("automata/compile.py", "groups are nested too deep", "the limit on nesting is reached before"),
    ("regex/parse.py", "groups are nested too deep", "the limit on nesting is reached before"),
    ("regex/parse.py", "is not supported", "for a part of a pattern that a later Python may have"),
    ("automata/dfa.py", "choices must be a list", _REFUSED),
    ("automata/fsm.py", "an interegular.FSM is needed", _LIBRARY),
    ("automata/fsm.py", "over bytes, the automaton passes", _LIBRARY),
    ("automata/fsm.py", "the symbol", _LIBRARY),
    ("automata/graph.py", "has no start", _REFUSED),
    ("ban/routes.py", "there is no banned word", _REFUSED),
    ("ban/words.py", "white space only", "lists of words are split so that none is empty"),
    ("ban/words.py", "must be a list, not the text", _LIBRARY),
    ("ban/words.py", "match is", _REFUSED),
    ("ban/words.py", "which is no text", _LIBRARY),
    ("decoding/drive.py", "max_tokens must be at least 0", _REFUSED),
    ("decoding/drive.py", "stop strings are for text without a pattern", _REFUSED),
    ("decoding/drive.py", "the index was made for another vocabulary", "told when the index is loaded"),
    ("decoding/drive.py", "the prompt has token", _LIBRARY),
    ("decoding/drive.py", "words can be banned beside an Index only", _REFUSED),
    ("decoding/loop.py", "no token is allowed after", "an index allows no token behind which nothing can follow"),
    ("decoding/stops.py", "stop must be a list", _LIBRARY),
    ("decoding/strategies.py", "strategy is", _REFUSED),
    ("decoding/strategies.py", "max_block must be at least 1", _REFUSED),
    ("index/builder.py", "the automaton accepts no text at all", "told when the pattern is read"),
    ("index/export.py", "there is no state", _REFUSED),
    ("index/rows.py", "there is no state", _REFUSED),
    ("index/free.py", "the sequence has ended", _ASKED_RIGHT),
    ("index/free.py", "cannot take back", _ASKED_RIGHT),
    ("index/guide.py", "the sequence has ended", _ASKED_RIGHT),
    ("index/guide.py", "cannot take back", _ASKED_RIGHT),
    ("index/guide.py", "is not allowed in state", _ASKED_RIGHT),
    ("reference/guide.py", "the sequence has ended", _ASKED_RIGHT),
    ("reference/guide.py", "is not allowed here", _ASKED_RIGHT),
    ("reference/guide.py", "cannot take back", _ASKED_RIGHT),
    ("reference/sampling.py", "no token has any probability", _LIBRARY),
    ("reference/words.py", "must end with *", _LIBRARY),
    ("index/open_file.py", "was cut short while it was in use", "another program must cut the file in that moment"),
    ("many_input.py", "cannot read {self.name}", "the disk must fail while the file is read"),
    ("models/device.py", "no such dtype", _REFUSED),
    ("models/transformers_failures.py", "the text is longer than", "the limit of tokens is lowered to the context"),
    ("models/transformers_failures.py", "there is no token", "told when the prompt is read"),
    ("models/transformers_batch.py", "has nothing to read", "a prompt has one token at least"),
    ("vocabulary/tokenizer.py", "is no tokenizer of transformers", _LIBRARY),
    (
        "vocabulary/tokenizer.py",
        "its decoder is a program without a description",
        "a file of a tokenizer has no program",
    ),
    ("vocabulary/vocabulary.py", "a token id must be an integer", _LIBRARY),
    ("vocabulary/vocabulary.py", "there is no token", _LIBRARY),
    ("vocabulary/vocabulary.py", "must be bytes or None", _LIBRARY),
]
