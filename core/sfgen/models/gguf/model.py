"""A language model in a GGUF file, run by llama.cpp, and its tokenizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from sfgen import arguments
from sfgen.delays import Delay, delayed
from sfgen.errors import ModelError
from sfgen.models.chat_forms import ThoughtForm
from sfgen.models.cpu_threads import checked_threads, threads_for
from sfgen.models.device import check_names
from sfgen.models.gguf.context import Pool
from sfgen.models.gguf.header import GgufFiles, check_gguf
from sfgen.models.gguf.library import library
from sfgen.models.gguf.loaded_model import LoadedModel
from sfgen.models.gguf.session import GgufBatch, GgufSession, Sequences
from sfgen.models.gguf.vocabulary import read_vocabulary, token_texts
from sfgen.models.messages import ChatPrompt, Message, TemplateVariables, Tools
from sfgen.models.prompt import Prompts, render
from sfgen.models.sessions import not_pickled
from sfgen.models.tool_forms import ToolForm

if TYPE_CHECKING:
    from sfgen.protocols import Batch
    from sfgen.vocabulary import Vocabulary


class GgufModel:
    """A language model in a GGUF file.

    All of it is loaded at once: llama.cpp reads the tokenizer with the weights, which are mapped into memory and take
    little time where the system has read the file before.

    Attributes:
        name: What messages and records call it.
        vocabulary: The bytes of each token.
        context_length: The most tokens that it can read.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        device: str = "auto",
        dtype: str = "auto",
        threads: int | None = None,
        title: str | None = None,
    ) -> None:
        self.name = (
            str(arguments.path("path", path, error=ModelError)) if title is None else arguments.text("title", title)
        )
        check_names(device, dtype)
        threads = checked_threads(threads)
        self._files: GgufFiles = check_gguf(Path(path).expanduser(), self.name, device=device, dtype=dtype)
        texts = token_texts(self._files.first, self.name)
        with delayed(Delay(f"loading {self.name}", size=self._files.size)):
            self._model = LoadedModel(self._files.first, self.name, device=device)
        self.vocabulary: Vocabulary = read_vocabulary(self._model, texts, self.name)
        self.context_length: int = self._model.context_length
        header = self._files.first
        self._prompts = Prompts(GgufTokenizer(self._model, header.chat_template, header.tool_template), self.name)
        self._pool = Pool(
            self._model,
            self.context_length,
            threads=threads or threads_for(self._model.parameters),
            is_float32=self._files.first.is_float32,
            copies=not self._files.has_rotations_by_length,
        )

    def __reduce__(self) -> NoReturn:
        raise not_pickled(self.name)

    def __repr__(self) -> str:
        return f"GgufModel({self.name!r})"

    def encode(self, text: str) -> list[int]:
        """Tokenize a prompt, with the begin token if the file asks for it."""
        # No end token is added. The empty prompt is the begin token, or the end token where there is none.
        return self._prompts.encode(arguments.text("text", text))

    def encode_inside(self, text: str) -> list[int]:
        """Tokenize a text inside another one, adding nothing around it."""
        # The name of a special token is that token, as in a prompt.
        return self._prompts.inside(arguments.text("text", text))

    def chat(
        self,
        messages: str | Sequence[Message],
        tools: Tools | None = None,
        variables: TemplateVariables | None = None,
    ) -> ChatPrompt:
        """Tokenize a conversation with the file's chat template."""
        # It ends where the answer begins, or after a last message of the assistant, which the model continues.
        return self._prompts.chat(messages, tools, variables)

    @property
    def thought(self) -> ThoughtForm | None:
        """The form of thoughts in the chat template; ``None``: it has none."""
        return self._prompts.thought

    @property
    def tool_form(self) -> ToolForm | None:
        """The form of calls in the chat template; ``None``: it has none."""
        return self._prompts.tool_form

    def session(self) -> GgufSession:
        """Return a new, empty session."""
        return GgufSession(Sequences(self._pool, 1), len(self.vocabulary), self.context_length, self.name)

    def batch(self, rows: int) -> Batch:
        """Return a new batch of empty rows, which share forward passes."""
        from sfgen.models.sessions import SeparateRows

        rows = arguments.whole_number("rows", rows, least=1)
        if 1 < rows <= library().llama_max_parallel_sequences() and not self._files.has_rotations_by_length:
            return GgufBatch(Sequences(self._pool, rows), len(self.vocabulary), self.context_length, self.name)
        return SeparateRows(self, rows)


class GgufTokenizer:
    """The tokenizer of a GGUF file as a ``sfgen.models.prompt.PromptTokenizer``."""

    def __init__(self, model: LoadedModel, chat_template: str, tool_template: str = "") -> None:
        self._model = model
        self._chat_template = chat_template
        self._tool_template = tool_template
        self.begin_token = model.begin_token()
        self.end_token = model.end_token()

    @property
    def has_chat_template(self) -> bool:
        """Whether the file has a chat template."""
        return bool(self._chat_template)

    def before(self) -> list[int]:
        """Return the tokens before each text: a begin token or none."""
        return [self.begin_token] if self.begin_token is not None and self._model.writes_begin_token() else []

    def inside(self, text: str) -> list[int]:
        """Tokenize a text alone, reading the names of special tokens."""
        return self._model.tokenize(text)

    def rendered(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Tools | None,
        variables: TemplateVariables | None = None,
        *,
        begins_answer: bool,
    ) -> str:
        """Render a conversation."""
        named = {"bos_token": self.begin_token, "eos_token": self.end_token}
        special = {name: self._model.text(token) for name, token in named.items() if token is not None}
        template = self._tool_template if tools is not None and self._tool_template else self._chat_template
        return render(template, messages, special, tools=tools, variables=variables, begins_answer=begins_answer)


def gguf_vocabulary(path: str | Path) -> Vocabulary:
    """Read the vocabulary of a GGUF file, without its weights."""
    name = str(path)
    files = check_gguf(Path(path).expanduser(), name)
    texts = token_texts(files.first, name)
    return read_vocabulary(LoadedModel(files.first, name, vocabulary_only=True), texts, name)
