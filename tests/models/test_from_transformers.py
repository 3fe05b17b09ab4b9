"""A model that the caller has loaded is the model of its files; it is used as it is and left as it is."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.support.models.random_models import ARCHITECTURES, TOKENIZERS

from sfgen import BannedWords, Dfa, Finished, Index, Sampler, Vocabulary, from_transformers, generate, stream
from sfgen.ban import scan
from sfgen.decoding import batch_of, drive_batch, prepare
from sfgen.errors import ModelError, SfgenError, VocabularyError
from sfgen.models.sessions import SeparateRows
from sfgen.models.transformers_batch import TransformersBatch
from sfgen.models.transformers_model import TransformersModel
from sfgen.vocabulary.pretrained import quiet_transformers


def spread(network: Any, devices: tuple[str, str]) -> Any:
    """Put the last layer of a small Llama-like model on the second device, all else on the first.

    A hook brings what the layer is given to its device, and what it gives back to the first. The cache is not brought
    along: the keys of each layer stay where it computes them.
    """
    first, second = map(torch.device, devices)
    network.to(first)
    body = network.base_model
    layer = body.layers[-1]
    layer.to(second)

    def bring(_: Any, inputs: Any, named: Any) -> Any:
        return _moved(inputs, second), _moved(named, second)

    layer.register_forward_pre_hook(bring, with_kwargs=True)
    layer.register_forward_hook(lambda _, __, output: _moved(output, first))
    last = f"{network.base_model_prefix}.layers.{len(body.layers) - 1}"
    network.hf_device_map = {"": str(first), last: f"{second} as another one"}
    return network


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, tuple | list):
        return type(value)(_moved(each, device) for each in value)
    if isinstance(value, dict):
        return {name: _moved(each, device) for name, each in value.items()}
    return value


ModelDirectory = Callable[..., Path]
FAMILIES = ["gpt2", "llama", "gemma2", "gemma3", "mamba", "falcon-h1"]
PATTERN = r"[a-z]{2,6}( [a-z]{1,4}){3}\."
FEW = np.array([3, 0, 7], dtype=np.int32)


def loaded(directory: Path, **options: Any) -> Any:
    automatic: Any = transformers.AutoModelForCausalLM  # untyped
    with quiet_transformers():
        return automatic.from_pretrained(directory, dtype=torch.float32, **options)


def tokenizer_of(directory: Path) -> Any:
    automatic: Any = transformers.AutoTokenizer  # untyped
    return automatic.from_pretrained(directory)


def answers(model: TransformersModel) -> list[Any]:
    """Scores of a session that reads on and goes back, and of a batch."""
    session, batch = model.session(), model.batch(2)
    found: list[Any] = [session.extend([5, 6, 7, 8, 9, 10, 11])]
    session.rewind(4)
    found += [session.extend_rows([9, 10], FEW), session.score_again(None), session.extend([12])]
    session.rewind(2)
    found.append(session.extend_all([7, 8, 9]))
    found += batch.extend({0: [5, 6, 7], 1: [8]}).values()
    batch.rewind(0, 1)
    return [*found, *batch.extend({0: [9], 1: [10, 11]}).values()]


def assert_same(found: list[Any], expected: list[Any], tolerance: float = 0) -> None:
    for one, other in zip(found, expected, strict=True):
        if other is None or one is None:  # what has scored all tokens has nothing to score again
            continue
        if one.shape != other.shape:  # all tokens where a few were wanted
            one = one[FEW]
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * float(np.abs(other).max()))


def texts(model: TransformersModel) -> list[str]:
    index = Index(Dfa.from_regex(PATTERN), model.vocabulary)
    free = generate(model, "It is", max_tokens=12)
    words = re.findall(r"\w+", free.text)[:3] or ["talk"]
    banned = BannedWords(words, match="substring")
    clean = generate(model, "It is", banned=banned, max_tokens=12)
    assert not scan(clean.text, banned)
    events = list(stream(model, "It is", index=index, max_tokens=40, sampler=Sampler(1.0, 3)))
    assert isinstance(events[-1], Finished)
    guided = [generate(model, "It is", index=index, max_tokens=40).text, events[-1].result.text]
    assert all(re.fullmatch(PATTERN, text) for text in guided)
    loops = [prepare(model, prompt, index=index, max_tokens=40) for prompt in ("It is", "A")]
    results = [event.result for _, event in drive_batch(loops, batch_of(model, 2)) if isinstance(event, Finished)]
    return [free.text, clean.text, *guided, *(result.text for result in results)]


@pytest.fixture(scope="module", params=FAMILIES)
def directory(request: pytest.FixtureRequest, model_directory: ModelDirectory) -> Path:
    return model_directory(request.param)


@pytest.fixture(scope="module")
def llama(model_directory: ModelDirectory) -> Path:
    return model_directory("llama")


class TestAModelOfTheCaller:
    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    def test_scores_as_that_of_its_files(self, model_directory: ModelDirectory, architecture: str) -> None:
        directory = model_directory(architecture)
        found = from_transformers(loaded(directory), tokenizer_of(directory))
        expected = TransformersModel.from_pretrained(directory, device="cpu")
        assert found.vocabulary == expected.vocabulary
        assert found.context_length == expected.context_length
        assert found.encode("It is") == expected.encode("It is")
        assert found.encode("") == expected.encode("")
        assert_same(answers(found), answers(expected))
        assert type(found.batch(2)) is type(expected.batch(2))

    def test_writes_as_that_of_its_files(self, directory: Path) -> None:
        found = from_transformers(loaded(directory), tokenizer_of(directory))
        assert texts(found) == texts(TransformersModel.from_pretrained(directory, device="cpu"))

    def test_is_left_as_it_is(self, directory: Path) -> None:
        network = loaded(directory)
        network.get_input_embeddings().weight.requires_grad_(False)
        before, attributes = copy.deepcopy(network.state_dict()), dict(vars(network))
        kinds = [type(module) for module in network.modules()]
        needs = [weight.requires_grad for weight in network.parameters()]
        model = from_transformers(network, tokenizer_of(directory))
        answers(model)
        assert model.model is network
        assert vars(network) == attributes
        assert [type(module) for module in network.modules()] == kinds
        assert [weight.requires_grad for weight in network.parameters()] == needs
        assert network.state_dict().keys() == before.keys()
        assert all(torch.equal(weight, before[name]) for name, weight in network.state_dict().items())

    def test_can_be_trained_afterwards(self, llama: Path) -> None:
        network = loaded(llama)
        model = from_transformers(network, tokenizer_of(llama))
        before = model.session().extend([5, 6])
        network.train()
        network(torch.tensor([[5, 6, 7]]), labels=torch.tensor([[5, 6, 7]])).loss.backward()
        with torch.no_grad():
            for weight in network.parameters():
                weight -= 0.1 * weight.grad
        network.eval()
        assert np.abs(model.session().extend([5, 6]) - before).max() > 0  # nothing was copied
        with torch.inference_mode():
            expected = network(torch.tensor([[5, 6]])).logits[0, -1].numpy()
        np.testing.assert_allclose(model.session().extend([5, 6]), expected, atol=1e-6)

    def test_in_training_mode_is_refused_whenever_it_is_asked(self, llama: Path) -> None:
        network, tokenizer = loaded(llama).train(), tokenizer_of(llama)
        with pytest.raises(ModelError, match="is in training mode") as caught:
            from_transformers(network, tokenizer)
        assert "model.eval()" in caught.value.hint
        model = from_transformers(network.eval(), tokenizer)
        batch = model.batch(2)
        network.train()
        for ask in (model.session, lambda: generate(model, "x", max_tokens=2), lambda: batch.extend({0: [5], 1: [6]})):
            with pytest.raises(ModelError, match="is in training mode"):
                ask()
        assert network.training  # nothing was switched behind the caller's back

    def test_end_tokens_are_those_that_the_model_has_now(self, llama: Path) -> None:
        network, tokenizer = loaded(llama), tokenizer_of(llama)
        own = tokenizer.eos_token_id
        assert network.config.eos_token_id == own
        network.generation_config.eos_token_id = [3, 5]
        assert from_transformers(network, tokenizer).vocabulary.end_token_ids == (3, 5, own)
        network.config.eos_token_id = 7
        assert from_transformers(network, tokenizer).vocabulary.end_token_ids == (3, 5, 7, own)
        network.config.eos_token_id = type(network.config)().eos_token_id  # a default: nobody may have said so
        assert from_transformers(network, tokenizer).vocabulary.end_token_ids == (3, 5, own)
        network.generation_config.eos_token_id, network.config.eos_token_id = None, 7
        assert from_transformers(network, tokenizer).vocabulary.end_token_ids == (7, own)
        network.config.eos_token_id = None
        assert from_transformers(network, tokenizer).vocabulary.end_token_ids == (own,)

    def test_rows_are_those_that_the_model_has_now(self, llama: Path) -> None:
        network, tokenizer = loaded(llama), tokenizer_of(llama)
        network.resize_token_embeddings(len(tokenizer) + 300)
        model = from_transformers(network, tokenizer)
        assert len(model.vocabulary) == len(tokenizer) + 300 == len(model.session().extend([5]))
        tokenizer.add_tokens(["<a new word>"])
        network.resize_token_embeddings(len(tokenizer))
        model = from_transformers(network, tokenizer)
        assert model.vocabulary.tokens[len(tokenizer) - 1] == b"<a new word>"
        assert model.encode("<a new word>")[-1] == len(tokenizer) - 1

    def test_its_name(self, llama: Path) -> None:
        assert from_transformers(loaded(llama), tokenizer_of(llama)).name == str(llama)
        network: Any = transformers.AutoModelForCausalLM  # untyped
        model = from_transformers(network.from_config(loaded(llama).config).eval(), tokenizer_of(llama))
        assert model.name
        config = copy.deepcopy(loaded(llama).config)
        config.name_or_path = ""
        assert from_transformers(network.from_config(config).eval(), tokenizer_of(llama)).name == "LlamaForCausalLM"


class TestATokenizerOfTheCaller:
    def test_that_cuts_texts_off_or_fills_them_up(self, llama: Path) -> None:
        expected = TransformersModel.from_pretrained(llama, device="cpu")
        text = "a long text, which is longer than four tokens " * 3
        cutting, filling, later = (tokenizer_of(llama) for _ in range(3))
        filling.pad_token = filling.eos_token
        cutting(text, truncation=True, max_length=4)
        assert cutting.backend_tokenizer.truncation is not None
        filling(["a", text], padding=True)
        assert filling.backend_tokenizer.padding is not None
        for tokenizer in (cutting, filling):
            assert Vocabulary.from_tokenizer(tokenizer).tokens == Vocabulary.from_tokenizer(later).tokens
            model = from_transformers(loaded(llama), tokenizer)
            assert model.vocabulary == expected.vocabulary
            assert model.encode(text) == expected.encode(text)
        model = from_transformers(loaded(llama), later)
        assert model.encode(text) == expected.encode(text)
        later(text, truncation=True, max_length=4)  # between two texts
        assert model.encode(text) == expected.encode(text)

    def test_with_more_tokens_than_rows(self, llama: Path, model_directory: ModelDirectory) -> None:
        other = tokenizer_of(model_directory("gemma2"))
        with pytest.raises(ModelError, match=r"the tokenizer has token \d+, but the model knows only \d+") as caught:
            from_transformers(loaded(llama), other)
        assert "another model" in caught.value.hint
        padded = tokenizer_of(llama)
        padded.add_special_tokens({"pad_token": "<pad>"})  # it is never written
        assert len(padded) > len(from_transformers(loaded(llama), padded).vocabulary)

    def test_that_is_slow(self, llama: Path) -> None:
        from transformers import PreTrainedTokenizer

        class Slow(PreTrainedTokenizer):
            vocab_size = 3

            def get_vocab(self) -> dict[str, int]:
                return {"a": 0, "b": 1, "c": 2}

            def _tokenize(self, text: str, **_: Any) -> list[str]:
                return list(text)

            def _convert_token_to_id(self, token: str) -> int:
                return self.get_vocab().get(token, 0)

            def _convert_id_to_token(self, index: int) -> str:
                return "abc"[index]

        with pytest.raises(VocabularyError, match="Slow is a slow tokenizer"):
            from_transformers(loaded(llama), Slow())  # type: ignore[no-untyped-call]


class TestAModelThatIsOtherwise:
    @pytest.mark.parametrize("architecture", ["gpt2", "llama", "gemma2", "gemma3"])
    def test_quantised(self, model_directory: ModelDirectory, architecture: str) -> None:
        directory = model_directory(architecture)
        quantise: Any = torch.ao.quantization.quantize_dynamic
        with quiet_transformers():
            network = quantise(loaded(directory), {torch.nn.Linear}, dtype=torch.qint8)
        assert type(network.get_output_embeddings()) is not torch.nn.Linear
        model = from_transformers(network, tokenizer_of(directory))
        assert len(model.vocabulary) == len(TransformersModel.from_pretrained(directory).vocabulary)
        with torch.inference_mode():
            # Its numbers depend on what is computed together.
            expected = network(torch.tensor([[5, 6, 7]]), logits_to_keep=1).logits[0, -1].numpy()
        np.testing.assert_allclose(model.session().extend([5, 6, 7]), expected, atol=1e-5)
        assert len(texts(model)) == 6  # which looks at them

    @pytest.mark.parametrize("devices", [("cpu", "cpu"), ("cuda:0", "cpu")], ids=str)
    @pytest.mark.parametrize("architecture", ["llama", "gemma2", "falcon-h1"])
    def test_spread_over_devices(
        self, model_directory: ModelDirectory, architecture: str, devices: tuple[str, str]
    ) -> None:
        if "cuda:0" in devices and not torch.cuda.is_available():
            pytest.skip("no CUDA device here")
        directory = model_directory(architecture)
        network = spread(loaded(directory), devices)
        model = from_transformers(network, tokenizer_of(directory))
        expected = TransformersModel.from_pretrained(directory, device="cpu")
        tolerance = 1e-3 if "cuda:0" in devices else 1e-6
        assert_same(answers(model), answers(expected), tolerance)
        assert type(model.batch(2)) is SeparateRows
        assert texts(model) == texts(expected)
        assert [str(weight.device) for weight in network.get_input_embeddings().parameters()] == [devices[0]]

    def test_with_hooks_on_its_output_layer(self, llama: Path) -> None:
        network = loaded(llama)
        few = np.array([5, 3], dtype=np.int32)
        plain = from_transformers(network, tokenizer_of(llama)).session().extend_rows([5, 6], few)

        def more(_: Any, __: Any, scores: Any) -> Any:
            return scores + 3 * torch.nn.functional.one_hot(torch.tensor(5), scores.shape[-1])

        for module in (network.get_output_embeddings(), network):
            handle = module.register_forward_hook(
                more
                if module is not network
                else lambda _, inputs, output: setattr(output, "logits", more(_, inputs, output.logits))
            )
            model = from_transformers(network, tokenizer_of(llama))
            for scores in (model.session().extend([5, 6]), model.batch(2).extend({0: [5, 6], 1: [7]})[0]):
                assert isinstance(scores, np.ndarray)
                np.testing.assert_allclose(scores[few], [plain[0] + 3, plain[1]], atol=1e-5)
            handle.remove()

    def test_compiled(self, llama: Path) -> None:
        model = from_transformers(torch.compile(loaded(llama)), tokenizer_of(llama))
        assert_same(answers(model), answers(TransformersModel.from_pretrained(llama, device="cpu")))

    @pytest.mark.parametrize("puts_tokens_before", [False, True])
    def test_in_an_adapter(self, llama: Path, puts_tokens_before: bool) -> None:
        """As peft wraps a model: its layers are changed in place, and the wrapper gives the model back."""
        network = loaded(llama)
        wrapped: Any = torch.nn.Module()
        wrapped.active_peft_config = SimpleNamespace(is_prompt_learning=puts_tokens_before)
        wrapped.get_base_model = lambda: network
        if puts_tokens_before:
            with pytest.raises(ModelError, match="puts tokens of its own before"):
                from_transformers(wrapped, tokenizer_of(llama))
        else:
            assert from_transformers(wrapped, tokenizer_of(llama)).model is network

    def test_a_class_of_the_callers_own_is_asked_itself(self, llama: Path) -> None:
        class Doubled(transformers.LlamaForCausalLM):  # type: ignore[no-untyped-call]
            def forward(self, *arguments: Any, **named: Any) -> Any:
                output = super().forward(*arguments, **named)
                output.logits = output.logits * 2
                return output

        plain = from_transformers(loaded(llama), tokenizer_of(llama))
        doubled: Any = Doubled.from_pretrained(llama)
        model = from_transformers(doubled.eval(), tokenizer_of(llama))
        assert type(plain.batch(2)) is TransformersBatch
        assert type(model.batch(2)) is SeparateRows
        np.testing.assert_allclose(model.session().extend([5]), 2 * plain.session().extend([5]), atol=1e-5)


class TestWrongKinds:
    def refused(self, model: Any, tokenizer: Any) -> SfgenError:
        with pytest.raises(SfgenError) as caught:
            from_transformers(model, tokenizer)
        assert caught.value.message
        assert "\n" not in caught.value.message
        return caught.value

    @pytest.mark.parametrize(
        ("model", "hint"),
        [
            ("gpt2", "load_model"),
            (Path("gpt2"), "load_model"),
            (None, "AutoModelForCausalLM"),
            (torch.nn.Linear(2, 2), "AutoModelForCausalLM"),
            (transformers.LlamaForCausalLM, "AutoModelForCausalLM"),
            (SimpleNamespace(model=1, tokenizer=2), "pipeline.model"),
            (SimpleNamespace(module=1), "model.module"),
        ],
        ids=str,
    )
    def test_of_models(self, llama: Path, model: Any, hint: str) -> None:
        error = self.refused(model, tokenizer_of(llama))
        assert isinstance(error, ModelError)
        assert error.message.startswith("model must be a loaded model of transformers, not ")
        assert hint in error.hint

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("T5ForConditionalGeneration", "t5 reads one text and writes another"),
            ("BertForMaskedLM", "bert is an encoder"),
            ("BertLMHeadModel", "bert is an encoder"),
            ("LlamaModel", "LlamaModel does not score the next token"),
            ("LlamaForSequenceClassification", "LlamaForSequenceClassification does not score the next token"),
        ],
    )
    def test_of_networks(self, llama: Path, name: str, says: str) -> None:
        kind: Any = getattr(transformers, name)
        small = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_heads": 2, "num_layers": 1, "vocab_size": 99}
        settings = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        config = kind.config_class(**(small if "T5" in name else {**settings, "vocab_size": 99, "pad_token_id": 0}))
        with quiet_transformers():
            error = self.refused(kind(config).eval(), tokenizer_of(llama))
        assert isinstance(error, ModelError)
        assert says in error.message
        assert error.hint

    def test_of_tokenizers(self, llama: Path) -> None:
        network, tokenizer = loaded(llama), tokenizer_of(llama)
        for wrong, hint in [
            ("gpt2", "AutoTokenizer"),
            (None, "AutoTokenizer"),
            (network, "AutoTokenizer"),
            (tokenizer.backend_tokenizer, "tokenizer_object"),
            (SimpleNamespace(tokenizer=tokenizer), "processor.tokenizer"),
        ]:
            error = self.refused(network, wrong)
            assert isinstance(error, VocabularyError)
            assert error.message.startswith("tokenizer must be a tokenizer of transformers, not ")
            assert hint in error.hint

    def test_of_tokenizers_whose_bytes_cannot_be_told(self, llama: Path) -> None:
        from tokenizers import Tokenizer
        from tokenizers.models import WordPiece

        pieces: Any = transformers.PreTrainedTokenizerFast
        tokenizer = pieces(tokenizer_object=Tokenizer(WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]")))
        assert "WordPiece" in self.refused(loaded(llama), tokenizer).message


def test_every_tokenizer_family_is_there() -> None:
    assert {ARCHITECTURES[name][1] for name in FAMILIES} <= {each.name for each in TOKENIZERS.iterdir()}
