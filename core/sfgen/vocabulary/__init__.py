"""The vocabulary: from token ids to exact bytes, and the trie over them.

::

    tokenizer ──► Vocabulary (id → bytes) ──► TokenTrie ──► index, decoding
                  vocabulary.py               trie.py

A tokenizer is read in steps, each in its file: ``pretrained`` finds and loads it, ``tokenizer`` goes through its
tokens, ``decoder`` (with ``byte_level``) says what one token writes, ``round_trip`` proves it against the tokenizer
itself.
``json_file`` reads vocabularies written by hand, and ``token_bytes`` checks the tokens that people give.
"""

from sfgen.vocabulary.trie import TokenTrie
from sfgen.vocabulary.vocabulary import Vocabulary

__all__ = ["TokenTrie", "Vocabulary"]
