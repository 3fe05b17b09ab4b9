"""The loop of the source document on banned words, written anew from its description, to be compared with.

Token sequences that spell the words (with and without a space before) make a finite-state machine. The model writes
greedily; when the machine reaches an end state, the text goes back to before the first token of the match, that token
is forbidden at this position for good, and the whole text is read again without the cache.

The document's own code goes back by one token only, whatever the length of the match, because the length is never
recorded; here it is what the description says.
"""

from __future__ import annotations

from typing import Any

from sfgen import Vocabulary
from sfgen.ban.tokenizations import Routes


class SourceLoop:
    """Banned words as token sequences, undone by rollback.

    Args:
        network: A transformers causal language model.
        vocabulary: Its tokens.
        words: What is banned.
    """

    def __init__(self, network: Any, vocabulary: Vocabulary, words: list[str]) -> None:
        self._network = network
        self._vocabulary = vocabulary
        self._machine: dict[int, dict[int, int]] = {
            state: dict(edges) for state, edges in Routes(vocabulary, words).transitions().items()
        }

    def write(self, prompt_ids: list[int], tokens: int) -> tuple[str, int]:
        """The text, and how often it went back."""
        import torch

        from sfgen.models.transformers_forward import cache_in, cache_name, parameters_of

        cached = cache_name(parameters_of(self._network)) or "past_key_values"
        ids: list[int] = []
        forbidden: dict[int, set[int]] = {}
        cache, unread, rollbacks, state, open_from = None, list(prompt_ids), 0, 0, 0
        with torch.no_grad():
            while len(ids) < tokens:
                answer = self._network(input_ids=torch.tensor([unread]), use_cache=True, **{cached: cache})
                cache = cache_in(answer)
                scores = answer.logits[0, -1]
                scores[list(forbidden.get(len(ids), ()))] = -float("inf")
                token = int(scores.argmax())
                if token in self._vocabulary.end_token_ids:
                    break
                target = self._machine[state].get(token, 0)
                if state == 0 and target:
                    open_from = len(ids)
                state = target
                ids.append(token)
                unread = [token]
                if state == -1:
                    rollbacks += 1
                    forbidden.setdefault(open_from, set()).add(ids[open_from])
                    del ids[open_from:]
                    cache, unread, state = None, [*prompt_ids, *ids], 0
        text = b"".join(self._vocabulary.tokens[token] or b"" for token in ids).decode("utf-8", "replace")
        return text, rollbacks
