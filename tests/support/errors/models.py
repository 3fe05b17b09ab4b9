"""Models and tokenizers that are not there, are damaged, or do not fit this machine."""

from __future__ import annotations

import functools
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.errors.case import Before, Case, both, files, patched, raising
from tests.support.models.fake_hub import COMMIT
from tests.support.models.random_models import TOKENIZERS, save

_BEGUN = '[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]'
_GEN = "gen -m model -r '[ab]' --max-tokens 5 --device cpu x"
_UNIFORM = "gen -m uniform --tokenizer tok -r a x"


@functools.cache
def _whole() -> Path:
    return save("llama", Path(tempfile.mkdtemp(prefix="sfgen-")))


def _model(spoil: Callable[[Path], object] = lambda directory: None) -> Before:
    """A small model in the folder ``model``, spoilt."""

    def make(_: pytest.MonkeyPatch) -> None:
        spoil(shutil.copytree(_whole(), Path("model")))

    return make


def _configured(**changes: Any) -> Before:
    def change(directory: Path) -> None:
        file = directory / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return _model(change)


def _remove(name: str) -> Before:
    return _model(lambda directory: (directory / name).unlink())


def _weights(data: bytes) -> Before:
    return _model(lambda directory: (directory / "model.safetensors").write_bytes(data))


def _less_weights(directory: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(directory / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if "lm_head" not in name}
    save_file(kept, directory / "model.safetensors", metadata={"format": "pt"})


def _shards(content: str) -> Before:
    def change(directory: Path) -> None:
        (directory / "model.safetensors").unlink()
        (directory / "model.safetensors.index.json").write_text(content)

    return _model(change)


def _template(text: str) -> Before:
    return _model(lambda directory: (directory / "chat_template.jinja").write_text(text))


def _without_special_tokens(directory: Path) -> None:
    config = json.loads((directory / "tokenizer_config.json").read_text())
    for name in ("bos_token", "eos_token", "pad_token", "unk_token", "additional_special_tokens"):
        config.pop(name, None)
    (directory / "tokenizer_config.json").write_text(
        json.dumps(config | {"tokenizer_class": "PreTrainedTokenizerFast"})
    )
    tokenizer = json.loads((directory / "tokenizer.json").read_text())
    tokenizer["post_processor"] = None
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer))
    for name in ("special_tokens_map.json",):
        (directory / name).unlink(missing_ok=True)


def _report(**changes: Any) -> Before:
    """transformers loads a model and reports this of it."""

    def make(monkeypatch: pytest.MonkeyPatch) -> None:
        import transformers

        original: Any = transformers.LlamaForCausalLM.from_pretrained

        def load(*arguments: Any, **options: Any) -> Any:
            model, report = original(*arguments, **options)
            return model, {**report, **changes}

        _model()(monkeypatch)
        monkeypatch.setattr(transformers.LlamaForCausalLM, "from_pretrained", load)

    return make


def _cached(*left_out: str) -> Before:
    """A small model in the hub's cache as ``org/model``, but for some of its files."""

    def make(monkeypatch: pytest.MonkeyPatch) -> None:
        folder = Path("cache/models--org--model")
        shutil.copytree(_whole(), folder / "snapshots" / COMMIT, ignore=shutil.ignore_patterns(*left_out))
        (folder / "refs").mkdir()
        (folder / "refs" / "main").write_text(COMMIT)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(Path("cache").resolve()))

    return make


def _failing_reader(error: BaseException) -> Before:
    return both(_model(), patched("transformers.LlamaModel.forward", raising(error)))


def _tokenizer(change: Callable[[Any], object] = lambda tokenizer: None, **model: Any) -> Before:
    """A tokenizer whose tokens are the 256 bytes, changed, in the folder ``tok``."""

    def make(_: pytest.MonkeyPatch) -> None:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers

        letters = sorted(pre_tokenizers.ByteLevel.alphabet())
        vocabulary = {letter: number for number, letter in enumerate(letters)}
        tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], **model))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        change(tokenizer)
        Path("tok").mkdir()
        tokenizer.save("tok/tokenizer.json")

    return make


def _prepend(tokenizer: Any) -> None:
    from tokenizers import normalizers

    tokenizer.normalizer = normalizers.Prepend("?")


def _two_meanings(tokenizer: Any) -> None:
    from tokenizers import AddedToken

    tokenizer.add_tokens([AddedToken("é", special=False, normalized=False)])  # the name of the byte 0xE9


def _no_decoder(tokenizer: Any) -> None:
    tokenizer.decoder = None


def _copied(name: str, **changes: Any) -> Before:
    def make(_: pytest.MonkeyPatch) -> None:
        shutil.copytree(TOKENIZERS / name, "tok")
        file = Path("tok", "tokenizer.json")
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return make


def _slow_tokenizer(_: pytest.MonkeyPatch) -> None:
    from transformers import ByT5Tokenizer

    tokenizer: Any = ByT5Tokenizer()
    tokenizer.save_pretrained("tok")


def _folder(name: str, **contents: str) -> Before:
    def make(_: pytest.MonkeyPatch) -> None:
        Path(name).mkdir()
        for file, content in contents.items():
            Path(name, file.replace("__", ".")).write_text(content)

    return make


_ONLINE = patched("huggingface_hub.constants.HF_HUB_OFFLINE", False)


def _hub(error: BaseException) -> Before:
    """What the hub says about a name."""
    return both(_ONLINE, patched("huggingface_hub.HfApi.model_info", raising(error)))


def _error(kind: str, status: int) -> BaseException:
    from huggingface_hub import errors

    made: BaseException = getattr(errors, kind)(
        "no", response=SimpleNamespace(status_code=status, headers={}, request=None)
    )
    return made


def _refusal(kind: str, status: int) -> Before:
    return lambda monkeypatch: _hub(_error(kind, status))(monkeypatch)


def _download(error: Callable[[], BaseException]) -> Before:
    """The hub has a model, and a download of it fails."""

    def make(monkeypatch: pytest.MonkeyPatch) -> None:
        _ONLINE(monkeypatch)
        info = SimpleNamespace(siblings=[SimpleNamespace(rfilename="config.json", size=9)])
        monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: info)
        monkeypatch.setattr("huggingface_hub.hf_hub_download", raising(error()))

    return make


def _without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if torch were not installed."""
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "transformers.models.auto.modeling_auto", raising=False)


MODELS = [
    # --- names
    Case("gen -m /no/such/model x", 1, "no model /no/such/model"),
    Case("gen -m nobody/nothing x", 1, "no model nobody/nothing"),
    Case("gen -m gemma-3.gguf x", 1, "Check the path and the spelling."),
    Case("gen -m nobody/nothing x", 1, "nobody/nothing; the hub's cache is "),
    Case("gen -m llama3.2:1b x", 1, "Ollama's models have such names. They are GGUF files"),
    Case("gen -m ~nosuchuser/model x", 1, "no model ~nosuchuser/model: no directory"),
    Case("gen -m zip:~nosuchuser/book x", 1, "no model zip:~nosuchuser/book: "),
    Case("models nowhere", 1, "no folder nowhere"),
    Case("gen -m model/config.json x", 1, "it is a file, and a model is a directory", _model()),
    Case("gen -m tinny x", 1, "no model tinny: no directory tinny"),
    Case("gen -m models/no.gguf x", 1, "no model models/no.gguf: no file models/no.gguf"),
    Case("gen -m org/model x", 1, "org/model is not in the hub's cache on this machine"),
    Case("gen -m org/model x", 1, "and the hub cannot be reached", _hub(TimeoutError())),
    Case("gen -m org/model x", 1, "its owner gives it", _download(lambda: _error("GatedRepoError", 403))),
    Case("gen -m org/model x", 1, "the download of config.json of org/model failed", _download(lambda: OSError("no"))),
    Case(
        "gen -m org/model --device cpu x",
        1,
        "there is no tokenizer of org/model on this machine",
        _cached("tokenizer*"),
    ),
    Case("gen -m org/model x", 1, "no model of that name on the hub", _refusal("RepositoryNotFoundError", 404)),
    Case("gen -m org/model x", 1, "the hub does not let you see org/model", _refusal("HfHubHTTPError", 403)),
    Case("gen -m org/model x", 1, "no model org/model: ", _refusal("GatedRepoError", 403)),
    Case(_GEN, 1, "pip install 'sfgen[transformers]'", both(_model(), _without_extra)),
    # --- devices
    Case("gen --device toaster x", 1, "no such device: toaster"),
    Case("gen --device gpu x", 1, "Did you mean cuda?"),
    Case("gen --device cuda x", 1, "no device cuda: ", patched("torch.cuda.is_available", lambda: False)),
    Case(
        "gen --device cuda:7 x",
        1,
        "no device cuda:7: this machine has cuda:0",
        both(patched("torch.cuda.is_available", lambda: True), patched("torch.cuda.device_count", lambda: 1)),
    ),
    Case("gen --device mps x", 1, "no device mps", patched("torch.backends.mps.is_available", lambda: False)),
    # --- configurations
    Case(_GEN, 1, "it has no config.json", _remove("config.json")),
    Case(_GEN, 1, "cannot read the model model: ", _model(lambda path: (path / "config.json").write_text("{"))),
    Case(_GEN, 1, "t5 reads one text and writes another", _configured(model_type="t5")),
    Case(_GEN, 1, "bert is an encoder", _configured(model_type="bert")),
    Case(
        _GEN,
        1,
        "none of the type vit",
        _model(lambda path: (path / "config.json").write_text('{"model_type": "vit"}')),
    ),
    # --- weights
    Case(_GEN, 1, "it has no model.safetensors", _remove("model.safetensors")),
    Case(_GEN, 1, "cannot load the weights of ", _weights(b"x" * 9000)),
    Case(_GEN, 1, "m.safetensors of 1 files is missing", _shards('{"weight_map": {"a": "m.safetensors"}}')),
    Case(_GEN, 1, "cannot read model/model.safetensors.index.json", _shards("{")),
    Case(_GEN, 1, "should be 16 x 32", _configured(intermediate_size=32)),
    Case(_GEN, 1, "lm_head.weight is missing", _model(_less_weights)),
    Case(_GEN, 1, "cannot load the weights of model: broken", _report(error_msgs=["broken"])),
    Case(
        _GEN,
        1,
        "needs another package",
        _configured(quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True}),
    ),
    Case("gen -m org/model --device cpu x", 1, "were never downloaded", _cached("*.safetensors")),
    Case(
        "gen -m org/model --device cpu x",
        1,
        "no weights of org/model: the hub does not let you see",
        both(_cached("*.safetensors"), _refusal("HfHubHTTPError", 403)),
    ),
    Case(
        _GEN,
        1,
        "not enough memory for the weights",
        both(_model(), patched("transformers.LlamaForCausalLM.from_pretrained", raising(MemoryError()))),
    ),
    Case(_GEN, 1, "not enough memory on cpu", both(_model(), patched("torch.nn.Module.to", raising(MemoryError())))),
    Case(
        _GEN,
        1,
        "cannot put model on cpu: busy",
        both(_model(), patched("torch.nn.Module.to", raising(RuntimeError("busy")))),
    ),
    # --- while it reads
    Case(_GEN, 1, "not enough memory on cpu for", _failing_reader(MemoryError())),
    Case(
        "gen x", 1, "not enough memory for 2 tokens", patched("sfgen.models.tiny.session.read", raising(MemoryError()))
    ),
    Case(
        "gen --input - --lines --batch-size 2",
        1,
        "not enough memory for 4 tokens in 2 texts",
        patched("sfgen.models.tiny.batch.forward", raising(MemoryError())),
        stdin="x\nx\n",
        writes=True,
    ),
    Case(_GEN, 1, "model cannot score on cpu in float32: no kernel", _failing_reader(RuntimeError("no kernel"))),
    Case("gen -m model", 1, "the prompt is longer than model can read", _model(), stdin="one two " * 200),
    Case(
        "gen -m model --regex '[0-9]{300}' --max-tokens 400",
        1,
        "the context of model, 128 tokens, is too small: after a prompt of",
        _model(),
        stdin="one two " * 25,
    ),
    Case("gen -m model --device cpu x", 1, "the model knows only", _configured(vocab_size=50)),
    Case("gen -m model", 1, "no begin token and no end token", _model(_without_special_tokens)),
    # --- chat templates
    Case("gen -m model --chat x", 2, "model has no chat template", _model()),
    Case("gen -m model --chat x", 1, "leaves the message out", _template("Hello.")),
    Case("gen -m model --system S x", 2, "has no role system", _template("{{ messages[-1].content }}")),
    Case(
        "gen -m model --chat-file f",
        1,
        "the chat template of model leaves the end of the message $[1] out",
        both(_template("{% for m in messages %}{{ m.content[:2] }}{% endfor %}"), files(f=_BEGUN)),
    ),
    Case(
        "gen -m model --chat-file f --heal x",
        2,
        "a template writes the end of this conversation",
        both(_template("{% for m in messages %}{{ m.content }}{% endfor %}"), files(f=_BEGUN)),
    ),
    Case("gen -m model --chat ''", 1, "the chat template of model writes nothing", _template("{{ '' }}")),
    Case("gen -m model --chat x", 1, "the chat template of model fails: division by zero", _template("{{ 1 / 0 }}")),
    Case(
        "gen -m model --chat x",
        1,
        "chat templates need the package jinja2",
        both(
            _template("{{ 1 }}"),
            patched(
                "transformers.PreTrainedTokenizerBase.apply_chat_template", raising(ImportError("requires jinja2"))
            ),
        ),
    ),
    # --- zip
    Case("gen -m zip:f x", 1, "no model zip:f: the text is empty", files(f="")),
    Case("gen -m zip:f x", 1, "different characters", files(f="".join(map(chr, range(0x10000, 0x10000 + 262_200))))),
    Case("gen -m zip:f x", 1, "no model zip:f: No such file"),
    Case("gen -m zip:f x", 1, "the file is longer than", files(f="a" * 4_194_400)),
    Case("gen -m zip:f x", 1, "not UTF-8: line 1, byte 0", files(f=b"\xff")),
    Case("gen -m zip:f é", 1, "the model zip:f cannot read 'é' (U+00E9)", files(f="some text")),
]

TOKENIZER_CASES = [
    Case("gen -m uniform --tokenizer /no/such/dir x", 1, "no directory /no/such/dir"),
    Case("index -r a --tokenizer /no/such/dir", 1, "no directory /no/such/dir"),
    Case("gen -m uniform --tokenizer nobody/nothing x", 1, "nobody/nothing is not in the hub's cache"),
    Case("index -r a --tokenizer f", 1, "f is a file, and a tokenizer is a directory", files(f="{}")),
    Case(_UNIFORM, 1, "no tokenizer in tok", _folder("tok", config__json="{}")),
    Case(_UNIFORM, 1, "the tokenizer tok cannot be loaded", _folder("tok", tokenizer__json="{")),
    Case(_UNIFORM, 1, "WordPiece tokenizers are not supported", _copied("wordpiece")),
    Case(_UNIFORM, 1, "carry the mark '@@'", _tokenizer(end_of_word_suffix="@@")),
    Case(
        _UNIFORM,
        1,
        "byte tokens such as <0x41>",
        _copied(
            "unigram", decoder={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
        ),
    ),
    Case(_UNIFORM, 1, "is a slow tokenizer", _slow_tokenizer),
    Case(_UNIFORM, 1, "is both the added text 'é' and", _tokenizer(_two_meanings)),
    Case(_UNIFORM, 1, "should come out as", _tokenizer(_prepend)),
    Case(_UNIFORM, 1, "cannot be told: it has no decoder", _tokenizer(_no_decoder)),
]
