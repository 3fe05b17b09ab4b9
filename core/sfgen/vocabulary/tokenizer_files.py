"""Read a tokenizer's directory with the package tokenizers alone, which costs a tenth of importing transformers.

``tokenizer.json`` has the tokens, ``tokenizer_config.json`` names the special ones, ``config.json`` and
``generation_config.json`` the end tokens and the number of output rows. The result of transformers depends on the
class that it takes: some classes load ``tokenizer.json`` as it is, others build the tokenizer anew from its vocabulary,
with a decoder and special tokens of their own. So each class that it may take is tried here, and a directory is read
only if all have the same result. Where they differ, or where a file has anything unknown, the answer is ``None``:
transformers has to be asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfgen.vocabulary.tokenizer import description_of

_NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_AS_IT_IS = frozenset({"PreTrainedTokenizer", "TokenizersBackend"})
"""The classes that load ``tokenizer.json`` as it is. A name may end in ``Fast``, which means nothing any more."""

_BYTE_LEVEL: list[dict[str, Any]] = [{"type": "ByteLevel"}]
_FALLBACK: list[dict[str, Any]] = [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
]
_END = "<|endoftext|>"


@dataclass(frozen=True)
class _Class:
    """A class that builds the tokenizer anew.

    Attributes:
        decoder: The steps of its decoder, without what is done at the start of a text only.
        named: The special tokens that it takes where the configuration is silent.
    """

    decoder: list[dict[str, Any]]
    named: dict[str, str]


_CLASSES = {
    "GPT2Tokenizer": _Class(_BYTE_LEVEL, dict.fromkeys(("unk_token", "bos_token", "eos_token"), _END)),
    "Qwen2Tokenizer": _Class(_BYTE_LEVEL, dict.fromkeys(("unk_token", "eos_token", "pad_token"), _END)),
    "LlamaTokenizer": _Class(_FALLBACK, {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}),
    "GemmaTokenizer": _Class(
        _FALLBACK,
        {
            "unk_token": "<unk>",
            "bos_token": "<bos>",
            "eos_token": "<eos>",
            "pad_token": "<pad>",
            "mask_token": "<mask>",
        },
    ),
}

CLASS_OF_MODEL: Mapping[str, str | None] = {
    **dict.fromkeys(("gpt2", "gpt_neo", "gptj", "phi", "opt", "starcoder2", "codegen"), "GPT2Tokenizer"),
    **dict.fromkeys(("qwen2", "qwen2_moe", "qwen3", "qwen3_moe"), "Qwen2Tokenizer"),
    **dict.fromkeys(("gemma", "gemma2", "gemma3_text"), "GemmaTokenizer"),
    **dict.fromkeys(("mistral", "mixtral", "phi3", "olmo2", "granite", "stablelm", "gpt_bigcode"), "TokenizersBackend"),
    **dict.fromkeys(("llama", "bloom", "falcon", "smollm3", "deepseek_v2", "deepseek_v3"), None),
}
"""The class that transformers prefers for models of text alone, by their ``model_type``; ``None``: no preference."""


_WITH_RULES = ("deepseek-ai/deepseek-", "allenai/dolma2-", "stepfun-ai/step-")
"""The beginnings of hub ids for which transformers overrides the files."""


@dataclass(frozen=True)
class PlainTokenizer:
    """The attributes of a transformers tokenizer that are read here.

    See :func:`sfgen.vocabulary.tokenizer.read_tokenizer`.

    Attributes:
        backend_tokenizer: The ``tokenizers.Tokenizer``.
        all_special_ids: The ids of the special tokens.
        eos_token_id: The end token; ``None`` if it has none.
    """

    backend_tokenizer: Any
    all_special_ids: tuple[int, ...]
    eos_token_id: int | None


@dataclass(frozen=True)
class TokenizerFiles:
    """The content of a tokenizer's directory.

    Attributes:
        tokenizer: The tokenizer.
        end_token_ids: The ids that end a text, of all the files together; ``None``: no file names any.
        rows: The number of output rows of the model; ``None``: not said.
    """

    tokenizer: PlainTokenizer
    end_token_ids: list[int] | None
    rows: int | None


def read_directory(directory: Path, name: str = "") -> TokenizerFiles | None:
    """Read a tokenizer's directory without transformers; ``None`` where only transformers can tell.

    ``name`` is the id on the hub of what lies there; transformers has rules for some of them.
    """
    if name.lower().startswith(_WITH_RULES):
        return None
    try:
        return _read(directory)
    except Exception:  # transformers will say what is wrong with these files
        return None


def _read(directory: Path) -> TokenizerFiles | None:
    file = directory / "tokenizer.json"
    if not file.is_file():
        return None
    model = json_object(directory / "config.json")
    settings = _settings(directory)
    if settings is None or "fast_tokenizer_files" in settings or "auto_map" in settings | (model or {}):
        return None
    classes = _possible_classes(settings, model, directory)
    is_known = model is None or (model.get("model_type") in CLASS_OF_MODEL and _is_id(model.get("vocab_size")))
    if classes is None or not is_known:  # the number of rows may be a default
        return None
    from tokenizers import Tokenizer

    backend = Tokenizer.from_file(str(file))
    as_classes = [_as_class(name, backend, settings) for name in sorted(classes)]
    known = {each for each in as_classes if each is not None}
    if None in as_classes or len(known) > 1:
        return None
    ((ids, end),) = known
    ends = None
    if model is not None:
        generation = json_object(directory / "generation_config.json") or {}
        ends = union_of_ends(generation.get("eos_token_id"), *said_in_config(model), end)
        if ends is None:  # a default, which transformers alone knows
            return None
    return TokenizerFiles(PlainTokenizer(backend, tuple(sorted(ids)), end), ends, (model or {}).get("vocab_size"))


def json_object(file: Path) -> dict[str, Any] | None:
    """Return the object in a file; ``None`` without the file."""
    if not file.exists():
        return None
    value = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{file} holds no object")
    return value


# ---- what the model says -------------------------------------------------------------------------------------------


def union_of_ends(*said: Any) -> list[int] | None:
    """Return the end tokens that some files name, each once.

    Models that are fine-tuned for chats often change the end token in the tokenizer's file alone: any of them ends a
    text.

    >>> union_of_ends(2, None, [7, 2], -1), union_of_ends(None, [], None), union_of_ends(None)
    ([2, 7], [], None)
    """
    each = [ids if isinstance(ids, list | tuple) else [ids] for ids in said if ids is not None]
    known = (token_id for ids in each for token_id in ids if isinstance(token_id, int) and token_id >= 0)
    return list(dict.fromkeys(known)) if each else None


def said_in_config(config: Mapping[str, Any]) -> list[Any]:
    """Return what ``config.json`` itself says of end tokens, of the model and of its part for text."""
    text = config.get("text_config")
    return [part["eos_token_id"] for part in (config, text) if isinstance(part, dict) and "eos_token_id" in part]


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


# ---- the special tokens --------------------------------------------------------------------------------------------


def _settings(directory: Path) -> dict[str, Any] | None:
    """The tokenizer's configuration; ``None`` if there is none, or one of a kind that is no longer written."""
    settings = json_object(directory / "tokenizer_config.json")
    if settings is None or any(isinstance(settings.get(key), dict) and "__type" not in settings[key] for key in _NAMED):
        return None
    if "added_tokens_decoder" in settings:
        return settings
    if (directory / "added_tokens.json").exists():
        return None
    return settings | (json_object(directory / "special_tokens_map.json") or {})


def _possible_classes(settings: dict[str, Any], model: dict[str, Any] | None, directory: Path) -> set[str] | None:
    """The classes that transformers may take; ``None`` if one of them is not known here."""
    named = settings.get("tokenizer_class") or (model or {}).get("tokenizer_class")
    if named is None:
        return None
    preferred = CLASS_OF_MODEL[model["model_type"]] if model is not None else None
    names = {str(named).removesuffix("Fast")} | ({preferred} if preferred is not None else set())
    if "LlamaTokenizer" in names and b'"ByteLevel"' in (directory / "tokenizer.json").read_bytes():
        # transformers does so, too: that class knows no byte level.
        names = names - {"LlamaTokenizer"} | {"TokenizersBackend"}
    if (directory / "tekken.json").exists() or not names <= _AS_IT_IS | _CLASSES.keys():
        return None
    return names


def _as_class(name: str, backend: Any, settings: dict[str, Any]) -> tuple[frozenset[int], int | None] | None:
    """The ids of all special tokens and the end token under a class; ``None`` if its tokens may be others."""
    added, known = backend.get_added_tokens_decoder(), _CLASSES.get(name)
    if not _adds_nothing(settings, added):
        return None
    if known is not None and not _builds_the_same(name, known, backend, settings, added):
        return None
    named = {**({} if known is None else known.named), **{key: settings[key] for key in _NAMED if key in settings}}
    if backend.padding is not None:
        named.setdefault("pad_token", backend.padding["pad_token"])
    named |= {key: value for key, value in settings.items() if key.endswith("_token") and isinstance(value, str)}
    if any(key.endswith("_token") and isinstance(value, dict) for key, value in settings.items() if key not in _NAMED):
        return None
    extra = settings.get("extra_special_tokens") or settings.get("additional_special_tokens") or []
    values = [*named.values(), *(extra.values() if isinstance(extra, dict) else extra)]
    ids = {backend.token_to_id(_content(value)) for value in values if value is not None}
    if None in ids:  # it would be added to the vocabulary
        return None
    end = named.get("eos_token")
    unknown = getattr(backend.model, "unk_token", None)
    if known is not None and unknown is not None and backend.token_to_id(unknown) not in ids:
        return None  # special in the file alone
    special = frozenset(ids | {token_id for token_id, token in added.items() if token.special})
    return special, None if end is None else backend.token_to_id(_content(end))


def _content(token: Any) -> str:
    """The string of a token that is written as a string or as an object."""
    return str(token["content"] if isinstance(token, dict) else token)


def _adds_nothing(settings: dict[str, Any], added: Mapping[int, Any]) -> bool:
    """Whether the file has all added tokens of the configuration, with the same settings."""
    from tokenizers import AddedToken

    listed = settings.get("added_tokens_decoder") or {}
    return all(repr(AddedToken(**token)) == repr(added.get(int(token_id))) for token_id, token in listed.items())


def _builds_the_same(
    name: str, known: _Class, backend: Any, settings: dict[str, Any], added: Mapping[int, Any]
) -> bool:
    """Return whether the tokenizer that a class builds anew has the tokens of the file."""
    listed = settings.get("added_tokens_decoder")
    if listed is not None and {int(token_id) for token_id in listed} != added.keys():
        return False
    if type(backend.model).__name__ != "BPE" or _steps(description_of(backend)["decoder"]) != known.decoder:
        return False
    if any(token.normalized for token in added.values() if not token.special):
        return False  # the class has another normaliser
    if name == "Qwen2Tokenizer" and settings.get("add_prefix_space"):
        return False  # before every word, so that no text comes back as it was
    size = backend.get_vocab_size(with_added_tokens=False)
    return _follow(size, (token_id for token_id in added if token_id >= size))


def _follow(start: int, ids: Iterable[int]) -> bool:
    """Return whether these are the numbers from ``start`` on: the ids of tokens that are added one by one."""
    return all(token_id == start + position for position, token_id in enumerate(sorted(ids)))


def _steps(decoder: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The steps of a decoder, without what makes no difference to a token in mid-sentence."""
    if decoder is None:
        return []
    if decoder["type"] == "Sequence":
        steps = [step for part in decoder["decoders"] for step in _steps(part)]
        at_the_start = bool(steps) and steps[-1]["type"] == "Strip" and steps[-1]["stop"] == 0
        return steps[:-1] if at_the_start and {"type": "Fuse"} in steps else steps
    return [{"type": "ByteLevel"} if decoder["type"] == "ByteLevel" else decoder]
