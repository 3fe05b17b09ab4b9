"""The kinds of models, each found by its name: the model, or its vocabulary alone. A new kind gets its name here.

Large packages are imported only once they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfgen import arguments

if TYPE_CHECKING:
    from pathlib import Path

    from sfgen.models.gguf.model import GgufModel
    from sfgen.models.tiny.model import TinyModel
    from sfgen.models.transformers_model import TransformersModel
    from sfgen.models.uniform import UniformModel
    from sfgen.models.zip_model import ZipModel
    from sfgen.vocabulary import Vocabulary


@arguments.with_known_names
def load_model(
    name: str | Path = "tiny",
    *,
    tokenizer: str | Path | None = None,
    device: str = "auto",
    dtype: str = "auto",
    threads: int | None = None,
    trust_remote_code: bool = False,
    offline: bool = False,
) -> GgufModel | TinyModel | TransformersModel | UniformModel | ZipModel:
    """Load a model by name.

    Args:
        name: ``tiny`` (comes with the package), ``uniform`` (equal scores), ``zip:FILE`` (a compressor: a text is
            likely if it compresses well after FILE), a GGUF file (of several files the first), a directory of a
            transformers causal model, or its id on the hub.
        tokenizer: The tokenizer directory whose vocabulary ``uniform`` scores; without, it scores characters.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``. With ``auto`` and ``cpu``, ``tiny`` runs without
            torch.
        dtype: ``auto``, ``float32``, ``bfloat16`` or ``float16``; a GGUF file has its own: ``auto``.
        threads: How many threads of the processor the model may use; ``None``: one if it is small, else one for each
            core. ``tiny`` uses one where it runs without torch.
        trust_remote_code: Whether code that comes with the model may run.
        offline: Whether the hub may not be asked: only files on this machine are used.

    Returns:
        The model; its weights may be read when they are first needed.

    Raises:
        ModelError: No such model, or it cannot be read.
        VocabularyError: Its tokenizer is missing or not understood.
        UsageError: ``tokenizer`` with a model that has its own, or ``zip:`` without a file.
    """
    from sfgen.errors import ModelError, UsageError
    from sfgen.models.cpu_threads import checked_threads
    from sfgen.models.device import check_names

    arguments.path("name", name, error=ModelError)
    arguments.flag("trust_remote_code", trust_remote_code)
    arguments.flag("offline", offline)
    check_names(device, dtype)
    threads = checked_threads(threads)
    if str(name) == "uniform":
        from sfgen.models.uniform import UniformModel
        from sfgen.vocabulary import Vocabulary

        return UniformModel(
            Vocabulary.from_pretrained(tokenizer, trust_remote_code=trust_remote_code, offline=offline)
            if tokenizer
            else None
        )
    if tokenizer is not None:
        raise UsageError("a tokenizer can be named for the model uniform only; other models have their own")
    if str(name).startswith("zip:"):
        from sfgen.models.zip_model import ZipModel

        return ZipModel.from_file(str(name).removeprefix("zip:"))
    if str(name) == "tiny" and device in ("auto", "cpu") and dtype in ("auto", "float32"):
        from sfgen.models.tiny.model import TinyModel

        return TinyModel()
    from sfgen.models.gguf.header import gguf_path

    if gguf_path(name) is not None:
        from sfgen.models.gguf.model import GgufModel

        return GgufModel(name, device=device, dtype=dtype, threads=threads)
    from sfgen.models.transformers_model import TransformersModel

    if str(name) == "tiny":
        from sfgen.models.tiny import DIRECTORY

        return TransformersModel.from_pretrained(DIRECTORY, device=device, dtype=dtype, threads=threads, title="tiny")
    return TransformersModel.from_pretrained(
        name, device=device, dtype=dtype, threads=threads, trust_remote_code=trust_remote_code, offline=offline
    )


def load_vocabulary(name: str | Path = "tiny", *, trust_remote_code: bool = False, offline: bool = False) -> Vocabulary:
    """Load the vocabulary of a model without its weights.

    Neither torch nor transformers is imported where its tokenizer can be read without them.

    Args:
        name: As for ``load_model``.
        trust_remote_code: Whether code that comes with the model may run.
        offline: Whether the hub may not be asked: only files on this machine are used.

    Returns:
        The same vocabulary that the loaded model has.

    Raises:
        ModelError: No such model, or it cannot be read.
        VocabularyError: Its tokenizer is missing or not understood.
        UsageError: ``zip:`` without a file.
    """
    from sfgen.errors import ModelError

    arguments.path("name", name, error=ModelError)
    arguments.flag("trust_remote_code", trust_remote_code)
    arguments.flag("offline", offline)
    if str(name) == "uniform" or str(name).startswith("zip:"):
        return load_model(name).vocabulary
    from sfgen.models.gguf.header import gguf_path

    if gguf_path(name) is not None:
        from sfgen.models.gguf.model import gguf_vocabulary

        return gguf_vocabulary(name)
    from sfgen.models.location import locate_model
    from sfgen.vocabulary import Vocabulary
    from sfgen.vocabulary.tokenizer_files import read_directory

    if str(name) == "tiny":
        from sfgen.models.tiny import DIRECTORY

        name = DIRECTORY
    located = locate_model(name, offline=offline)
    read = None if located.directory is None else read_directory(located.directory, located.source)
    if read is None:
        return load_model(name, trust_remote_code=trust_remote_code, offline=offline).vocabulary
    return Vocabulary.from_tokenizer(read.tokenizer, end_token_ids=read.end_token_ids, size=read.rows)
