"""The vocabulary: from token ids to exact bytes, and the trie over them.

::

    tokenizer ──► Vocabulary (id → bytes) ──► TokenTrie ──► index, decoding
                  vocabulary.py               trie.py

A tokenizer is read in steps, each in its file: ``hub`` locates it, ``pretrained`` loads it by transformers,
``tokenizer_files`` without, ``tokenizer`` reads the bytes of its tokens and checks them against the tokenizer itself,
``decoder`` decodes one token. ``shapes`` is the trie of what tokens look like, ``character_trie`` the one of their
characters.
"""

from sfgen.vocabulary.trie import TokenTrie
from sfgen.vocabulary.vocabulary import Vocabulary

__all__ = ["TokenTrie", "Vocabulary"]
