"""Any transformers causal language model: one by its name, or one that the caller has loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from sfgen import arguments
from sfgen.errors import ModelError
from sfgen.models import architecture
from sfgen.models.checkpoint import Checkpoint
from sfgen.models.cpu_threads import checked_threads
from sfgen.models.messages import ChatPrompt, Message, Tools
from sfgen.models.pickling import not_pickled
from sfgen.models.prompt import Prompts
from sfgen.models.transformers_session import TransformersSession
from sfgen.models.transformers_tokenizer import TransformersTokenizer
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.protocols import Batch

Ids = TypeVar("Ids", bound=list[int])


class NetworkSource(Protocol):
    """A transformers model whose weights may be loaded later.

    Attributes:
        name: What messages and records call it.
        config: Its configuration.
        tokenizer: Its tokenizer, of transformers.
        end_token_ids: The ids that end a text; ``None``: not said.
        rows: The number of rows of its output layer; ``None``: not said.
        is_plain: Whether it is a class of transformers itself, all of it on one device.
    """

    name: str
    config: Any
    tokenizer: Any
    end_token_ids: list[int] | None
    rows: int | None
    is_plain: bool

    @property
    def weights_size(self) -> int | None:
        """The size in bytes of the files that ``network`` reads.

        ``None``: it reads none.
        """

    def network(self) -> Any:
        """Return the ``transformers`` model in evaluation mode.

        It is the same object at each call.

        Raises:
            ModelError: It cannot be loaded, or cannot be used as it is.
        """


class TransformersModel:
    """A transformers causal language model.

    Args:
        source: The model, and what is known of it.
        threads: How many threads of the processor it may use; ``None``: one if it is small, else as many as torch uses.

    Attributes:
        name: What messages and records call it.
        vocabulary: The bytes of each token, one for each row of the output layer.
        context_length: The most tokens that it can read; ``None`` where nothing limits them.

    Raises:
        VocabularyError: The bytes of its tokens cannot be determined.
    """

    def __init__(self, source: NetworkSource, *, threads: int | None = None) -> None:
        arguments.given(
            "source", source, "a transformers model with its tokenizer", "config", "tokenizer", "network",
            hint="TransformersModel.from_pretrained(name) loads one; sfgen.from_transformers takes one that is loaded.",
        )  # fmt: skip
        self.name = source.name
        self._source = source
        self._threads = checked_threads(threads)
        self.context_length: int | None = architecture.context_length(source.config)
        self.vocabulary = Vocabulary.from_tokenizer(
            source.tokenizer, end_token_ids=source.end_token_ids, size=source.rows
        )
        self._prompts = Prompts(TransformersTokenizer(source.tokenizer), self.name)

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path,
        *,
        device: str = "auto",
        dtype: str = "auto",
        trust_remote_code: bool = False,
        offline: bool = False,
        threads: int | None = None,
        title: str | None = None,
    ) -> TransformersModel:
        """Open a model in a directory or on the hub.

        The weights are loaded at the first session.

        Args:
            name: A directory, or the id of a model on the hub.
            device: ``auto`` (cuda, then mps, then cpu), ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
            dtype: ``auto`` (the checkpoint's own, but float32 on a CPU), ``float32``, ``bfloat16`` or ``float16``.
            trust_remote_code: Whether code that comes with the model may run.
            offline: Whether the hub must not be asked, also not for what its cache lacks.
            threads: As for the class.
            title: What messages and records call it; ``name`` if not given.

        Raises:
            ModelError: The model is missing, cannot be read, or continues no text; the device is not there.
            VocabularyError: Its tokenizer is missing or not understood.
        """
        return cls(
            Checkpoint(
                name,
                device=device,
                dtype=dtype,
                trust_remote_code=trust_remote_code,
                offline=offline,
                title=title,
            ),
            threads=threads,
        )

    def __reduce__(self) -> NoReturn:
        raise not_pickled(self.name)

    def __repr__(self) -> str:
        return f"TransformersModel({self.name!r})"

    @property
    def weights_size(self) -> int | None:
        """The size of the weight files in bytes.

        ``None`` if not all of them are on this machine.
        """
        return self._source.weights_size

    def encode(self, text: str) -> list[int]:
        """Tokenize a prompt, with the begin token where the tokenizer writes one.

        No end token is added. The empty prompt is the begin token, or the end token where there is none.

        Raises:
            ModelError: The prompt is empty, and the model has neither token; or the model has no row for a token.
        """
        return self._checked(self._prompts.encode(arguments.text("text", text)))

    def encode_inside(self, text: str) -> list[int]:
        """Tokenize a text inside another one, adding nothing around it.

        The name of a special token is that token, as in a prompt.
        """
        return self._prompts.inside(arguments.text("text", text))

    def chat(self, messages: str | Sequence[Message], tools: Tools | None = None) -> ChatPrompt:
        """Tokenize a conversation with the tokenizer's chat template.

        It ends where the answer begins; behind a last message of the assistant, where that goes on.

        Args:
            messages: The messages, or the text of a user's only one.
            tools: The tools that the model may call, each ``{"type": "function", "function": {…}}``, as transformers
                documents it for templates.

        Raises:
            UsageError: The tokenizer has no chat template, or that has no such role; or no messages.
            ModelError: The template cannot be used; or as for ``encode``.
        """
        return self._checked(self._prompts.chat(messages, tools))

    def session(self) -> TransformersSession:
        """Return a new, empty session, loading the weights the first time.

        Raises:
            ModelError: They cannot be loaded.
        """
        return TransformersSession(self.model, self.context_length, name=self.name, threads=self._threads)

    def batch(self, rows: int) -> Batch:
        """Return a new batch of empty rows.

        They share forward passes where the architecture is known to allow it. The weights are loaded at the first
        forward pass.

        Args:
            rows: The number of sequences.

        Raises:
            UsageError: It is not a whole number of at least 1.
        """
        from sfgen.models.separate_rows import SeparateRows
        from sfgen.models.transformers_batch import TransformersBatch, reads_rows_at_once

        rows = arguments.whole_number("rows", rows, least=1)
        if rows > 1 and self._source.is_plain and reads_rows_at_once(self._source.config):
            return TransformersBatch(
                lambda: self.model, rows, self.context_length, name=self.name, threads=self._threads
            )
        return SeparateRows(self, rows)

    @property
    def model(self) -> Any:
        """The ``transformers`` model, in evaluation mode; loaded at the first use."""
        return self._source.network()

    def _checked(self, ids: Ids) -> Ids:
        if max(ids) >= len(self.vocabulary):
            raise ModelError(
                f"{self.name}: the tokenizer gives token {max(ids)}, but the model knows only {len(self.vocabulary)}",
                hint="The tokenizer belongs to another model.",
            )
        return ids
