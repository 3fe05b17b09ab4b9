"""Banned words: find them in a text while it is being written.

::

    words ── BannedWords ── SeamMatcher ── decode loop (rewinds when a match is complete)
                  └──────── scan (checks the finished text)

A banned word is looked for in the bytes of the text, never in tokens, so it does not matter how a tokenizer cuts it:
inside a token, across tokens, with punctuation glued on, or at the seam with the prompt.

In reading order: the list that a user gives, its matcher in one text, the tokens that it forbids.

* :mod:`~sfgen.ban.words`: lists of words: banned words, words with a bias, and words files;
* :mod:`~sfgen.ban.entries`: the meaning of a banned word, and sorted lists of words that a text is compared with;
* :mod:`~sfgen.ban.characters`: case folding, word characters, and the scripts that need no spaces;
* :mod:`~sfgen.ban.confusables`: characters that look alike, folded to one;
* :mod:`~sfgen.ban.patterns`: the automata of patterns;
* :mod:`~sfgen.ban.automaton`: words, patterns and the words that excuse a match as one automaton over classes of
  characters, made as it is walked;
* :mod:`~sfgen.ban.detection`: the automaton over bytes that arrive in pieces, with exact rollback;
* :mod:`~sfgen.ban.seam`: the same text read by itself and after its prompt;
* :mod:`~sfgen.ban.state_table`: states and classes of characters as numbers, to read many tokens at once;
* :mod:`~sfgen.ban.completing_tokens`: the tokens that complete a match, for rollback and for masks;
* :mod:`~sfgen.ban.difference`: a constraint's automaton without the banned texts;
* :mod:`~sfgen.ban.tokenizations`: the token sequences that spell a word;
* :mod:`~sfgen.ban.independent_scan`: an independent check of a finished text.
"""

from sfgen.ban.detection import Mark, Match, Matcher
from sfgen.ban.entries import MatchMode
from sfgen.ban.independent_scan import scan
from sfgen.ban.seam import SeamMark, SeamMatcher, read_prompt
from sfgen.ban.words import BannedWords, WordBias, character_patterns, read_words, split_words

__all__ = [
    "BannedWords", "Mark", "Match", "MatchMode", "Matcher", "SeamMark", "SeamMatcher", "WordBias", "character_patterns",
    "read_prompt", "read_words", "scan", "split_words",
]  # fmt: skip
