"""Any transformers causal language model: one by its name, or one that the caller has loaded.

A loaded model may be quantised or spread over several devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from sfgen import arguments
from sfgen.errors import ModelError, VocabularyError
from sfgen.models import configuration
from sfgen.models.chat_forms import ThoughtForm
from sfgen.models.checkpoint import Checkpoint
from sfgen.models.cpu_threads import checked_threads
from sfgen.models.device import is_on_one_device
from sfgen.models.messages import ChatPrompt, Message, TemplateVariables, Tools
from sfgen.models.prompt import Prompts
from sfgen.models.sessions import not_pickled
from sfgen.models.tool_forms import ToolForm
from sfgen.models.transformers_internals import uncompiled
from sfgen.models.transformers_session import TransformersSession
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.pretrained import end_tokens_and_rows, import_transformers, quiet_transformers

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
        """The size in bytes of the files that ``network`` reads; ``None``: it reads none."""

    def network(self) -> Any:
        """Return the model in evaluation mode, the same object at each call."""


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
        self.context_length: int | None = configuration.context_length(source.config)
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
            offline: Whether the hub may not be asked: only files on this machine are used.
            threads: As for the class.
            title: The name in messages and records; ``name`` if not given.

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

    def chat(
        self,
        messages: str | Sequence[Message],
        tools: Tools | None = None,
        variables: TemplateVariables | None = None,
    ) -> ChatPrompt:
        """Tokenize a conversation with the tokenizer's chat template.

        It ends where the answer begins, or after a last message of the assistant, which the model continues.

        Args:
            messages: The messages, or the text of a user's only one.
            tools: The tools that the model may call, each ``{"type": "function", "function": {…}}``, as transformers
                documents it for templates.
            variables: Further variables of the template, such as ``{"enable_thinking": False}``.

        Raises:
            UsageError: The tokenizer has no chat template, the template has no such role, or there are no messages.
            ModelError: The template cannot be used; or as for ``encode``.
        """
        return self._checked(self._prompts.chat(messages, tools, variables))

    @property
    def thought(self) -> ThoughtForm | None:
        """The form of thoughts in the chat template; ``None``: it has none."""
        return self._prompts.thought

    @property
    def tool_form(self) -> ToolForm | None:
        """The form of calls in the chat template; ``None``: it has none."""
        return self._prompts.tool_form

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
        from sfgen.models.sessions import SeparateRows
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


class TransformersTokenizer:
    """A transformers tokenizer as a ``sfgen.models.prompt.PromptTokenizer``."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @property
    def begin_token(self) -> int | None:
        """The token that begins a text; ``None`` if there is none."""
        token: int | None = self._tokenizer.bos_token_id
        return token

    @property
    def end_token(self) -> int | None:
        """The token that ends a text; ``None`` if there is none."""
        token: int | None = self._tokenizer.eos_token_id
        return token

    @property
    def has_chat_template(self) -> bool:
        """Whether there is a chat template."""
        return bool(self._tokenizer.chat_template)

    def before(self) -> list[int]:
        """Return the tokens that the tokenizer writes before each text."""
        with quiet_transformers():
            whole = list(self._tokenizer("a")["input_ids"])
        plain = self.inside("a")
        starts = range(len(whole) - len(plain) + 1)
        return next((whole[:start] for start in starts if whole[start : start + len(plain)] == plain), [])

    def inside(self, text: str) -> list[int]:
        """Tokenize a text alone, reading the names of special tokens."""
        if (backend := self._backend) is not None:
            return list(backend.encode(text, add_special_tokens=False).ids)
        with quiet_transformers():  # it warns of long texts; their length is checked elsewhere
            return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def rendered(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Tools | None,
        variables: TemplateVariables | None = None,
        *,
        begins_answer: bool,
    ) -> str:
        """Render a conversation."""
        with quiet_transformers():
            return str(
                self._tokenizer.apply_chat_template(
                    list(messages),
                    tools=None if tools is None else list(tools),
                    tokenize=False,
                    add_generation_prompt=begins_answer,
                    **(variables or {}),
                )
            )

    @property
    def _backend(self) -> Any:
        """The backend of a fast tokenizer, which takes a third of the time; ``None`` if its result may differ."""
        # The result is the same if transformers itself does not truncate, pad, or split special tokens. That is checked
        # at each call, since the tokenizer may belong to a caller who changes its settings.
        tokenizer = self._tokenizer
        backend = getattr(tokenizer, "backend_tokenizer", None)
        is_bare = getattr(backend, "truncation", 0) is None and getattr(backend, "padding", 0) is None
        return backend if is_bare and not getattr(tokenizer, "split_special_tokens", False) else None


_TRAINING = "Call model.eval() first: in training mode dropout draws its scores at random."


@arguments.with_known_names
def from_transformers(model: Any, tokenizer: Any, *, threads: int | None = None) -> TransformersModel:
    """Use a causal language model that transformers has loaded.

    The model is used where it is and as it is: it is neither moved nor copied, it may be quantised, and spread over
    several devices by ``device_map``. It must be in evaluation mode whenever it is used. If peft or ``torch.compile``
    has wrapped it, the model inside is used, with its adapters.

    The end tokens are all those that the model's generation configuration, its configuration or the tokenizer names.
    Texts share forward passes (``batch``) if the model is a class of transformers on one device. If its output layer is
    a plain one, only the rows that are needed are computed. Other models give the same texts in more time.

    Args:
        model: What ``AutoModelForCausalLM.from_pretrained`` gives.
        tokenizer: What ``AutoTokenizer.from_pretrained`` gives for it.
        threads: How many threads of the processor it may use; ``None``: one if it is small, else as many as torch uses.

    Returns:
        The model, for ``generate``, ``stream``, ``score`` and jobs.

    Raises:
        ModelError: It is not a model that continues text, it is in training mode, or the tokenizer has tokens that the
            model has no row for.
        VocabularyError: It is not a tokenizer of transformers, or the bytes of its tokens cannot be determined.

    >>> import sfgen
    >>> from sfgen.models.tiny import DIRECTORY
    >>> from transformers import AutoModelForCausalLM, AutoTokenizer
    >>> network = AutoModelForCausalLM.from_pretrained(DIRECTORY)
    >>> model = sfgen.from_transformers(network, AutoTokenizer.from_pretrained(DIRECTORY))
    >>> sfgen.generate(model, "Year: ", index=sfgen.Index(sfgen.Dfa.from_regex("1[0-9]{3}"), model.vocabulary)).text[0]
    '1'
    """
    return TransformersModel(LoadedNetwork(model, tokenizer), threads=threads)


class LoadedNetwork:
    """A ``NetworkSource`` of a model that the caller has loaded."""

    weights_size = None

    def __init__(self, model: Any, tokenizer: Any) -> None:
        network = self._network = _unwrapped(model)
        self.name = str(network.name_or_path or type(network).__name__)
        configuration.check_class(network, self.name)
        self.network()
        self.config = network.config
        self.tokenizer = _checked_tokenizer(tokenizer)
        self.end_token_ids, self.rows = end_tokens_and_rows(self.config, network.generation_config, tokenizer)
        self.rows = getattr(network.get_output_embeddings(), "out_features", None) or self.rows
        if self.rows is not None:
            _check_rows(tokenizer, self.rows, self.name)
        self.is_plain = type(network).__module__.startswith("transformers.models.") and is_on_one_device(network)

    def network(self) -> Any:
        """Return the model of transformers."""
        if self._network.training:
            raise ModelError(f"{self.name} is in training mode", hint=_TRAINING)
        return self._network


def _unwrapped(model: Any) -> Any:
    """Return the transformers model inside what peft or ``torch.compile`` put around it."""
    import_transformers(ModelError)
    from transformers import PreTrainedModel

    network = uncompiled(model)
    if hasattr(network, "active_peft_config") and hasattr(network, "get_base_model"):
        if network.active_peft_config.is_prompt_learning:
            raise ModelError(
                "the adapter of this model puts tokens of its own before each text, which cannot be taken back",
                hint="Adapters that change weights, such as LoRA, work.",
            )
        network = network.get_base_model()
    if not isinstance(network, PreTrainedModel):
        raise arguments.refusal(
            "model", "a loaded model of transformers", model, hint=_what_to_give_for(model), error=ModelError
        )
    return network


def _what_to_give_for(model: Any) -> str:
    if isinstance(model, str | PathLike):
        return "A model is loaded by its name with sfgen.load_model()."
    if hasattr(model, "model") and hasattr(model, "tokenizer"):
        return "For a pipeline, give pipeline.model and pipeline.tokenizer."
    if hasattr(model, "module"):
        return "Give the model inside: model.module"
    return "AutoModelForCausalLM.from_pretrained() gives one."


def _checked_tokenizer(tokenizer: Any) -> Any:
    """Check that a tokenizer is one of transformers."""
    from transformers import PreTrainedTokenizerBase

    if isinstance(tokenizer, PreTrainedTokenizerBase):
        return tokenizer
    hint = "AutoTokenizer.from_pretrained() gives one."
    if hasattr(tokenizer, "tokenizer"):
        hint = "For a processor, give processor.tokenizer."
    elif type(tokenizer).__module__.startswith("tokenizers"):
        hint = "Wrap it: PreTrainedTokenizerFast(tokenizer_object=tokenizer)"
    raise arguments.refusal("tokenizer", "a tokenizer of transformers", tokenizer, hint=hint, error=VocabularyError)


def _check_rows(tokenizer: Any, rows: int, name: str) -> None:
    """Refuse a tokenizer with tokens that the model has no row for."""
    # Special tokens need none.
    special = {token_id for token_id, token in tokenizer.added_tokens_decoder.items() if token.special}
    special |= set(tokenizer.all_special_ids)
    beyond = {token_id for token_id in tokenizer.get_vocab().values() if token_id >= rows} - special
    if beyond:
        raise ModelError(
            f"{name}: the tokenizer has token {max(beyond)}, but the model knows only {rows}",
            hint="The tokenizer belongs to another model; for tokens that were added, call "
            "model.resize_token_embeddings(len(tokenizer)).",
        )
