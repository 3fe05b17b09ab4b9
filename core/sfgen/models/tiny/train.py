"""Make the embedded model from a seed: write the corpus, train the tokenizer, train the transformer, save both.

::

    python -m sfgen.models.tiny.train --steps 4400 --seed 0 --output FIRST
    python -m sfgen.models.tiny.train --start FIRST --steps 2200 --seed 1 --output DIR

Every document is freshly written (the corpus has no end; only short ones recur), so the training loss is also the
loss on fresh text. The same seed on the same machine gives the same weights; another processor rounds differently.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from sfgen.models.tiny import DIRECTORY
from sfgen.models.tiny.corpus import check_prompts_absent, documents

if TYPE_CHECKING:
    import torch

BEGIN, END = "<|begin|>", "<|end|>"
VOCABULARY_SIZE = 4096
TOKENIZER_DOCUMENTS = 40_000
ROW_LENGTH = 256
"""Tokens of one packed row; documents longer than that are cut."""
WAITING = 32
"""Documents among which the next one of a row is chosen, so that it fits."""
ROWS_PER_STEP = 8
LEARNING_RATE = 3e-3
WARM_UP_STEPS = 100


def pieces(text: str, random: Random) -> list[str]:
    """The text, in one case out of four cut in two, mostly after a space.

    The pieces are tokenised apart. A prompt may end where no token of the whole text would (``"It is "``), and a
    constraint may force text up to such a place; this is how the model learns to go on from there.
    """
    if len(text) < 2 or random.random() >= 0.25:
        return [text]
    spaces = [place + 1 for place, character in enumerate(text[:-1]) if character in ' \n"']
    cut = random.choice(spaces) if spaces and random.random() < 0.6 else random.randrange(1, len(text))
    return [text[:cut], text[cut:]]


def train_tokenizer(seed: int, count: int) -> Any:
    """A byte-level BPE (Sennrich et al. 2016) over ``count`` documents, as a ``tokenizers.Tokenizer``.

    Every byte is a token, every digit stands alone, and encoding puts the begin token in front.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=[BEGIN, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    random = Random(seed)
    text = (piece for document in islice(documents(seed), count) for piece in pieces(document, random))
    tokenizer.train_from_iterator(text, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A",
        pair=f"{BEGIN} $A {BEGIN} $B",
        special_tokens=[(BEGIN, tokenizer.token_to_id(BEGIN))],
    )
    return tokenizer


def rows(tokenizer: Any, seed: int) -> Iterator[list[int]]:
    """Rows of ``ROW_LENGTH`` token ids, without end: whole documents between begin and end, the last one cut.

    Raises:
        ValueError: A document contains a demonstration prompt.
    """
    source = _encoded(tokenizer, documents(seed), Random(seed))
    waiting: list[list[int]] = []
    while True:
        row: list[int] = []
        while len(row) < ROW_LENGTH:
            waiting += islice(source, WAITING - len(waiting))
            space = ROW_LENGTH - len(row)
            shortest = min(range(WAITING), key=lambda place: len(waiting[place]))
            row += waiting.pop(next((place for place, ids in enumerate(waiting) if len(ids) <= space), shortest))
        yield row[:ROW_LENGTH]


def _encoded(tokenizer: Any, source: Iterator[str], random: Random) -> Iterator[list[int]]:
    begin, end = tokenizer.token_to_id(BEGIN), tokenizer.token_to_id(END)
    for document in source:
        check_prompts_absent(document)
        parts = (tokenizer.encode(piece, add_special_tokens=False).ids for piece in pieces(document, random))
        yield [begin, *chain.from_iterable(parts), end]


def build_model(tokenizer: Any) -> Any:
    """An untrained ``LlamaForCausalLM`` in float32 with tied embeddings."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=192,
            intermediate_size=512,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.token_to_id(BEGIN),
            eos_token_id=tokenizer.token_to_id(END),
            pad_token_id=tokenizer.token_to_id(END),
        )
    )


def learning_rate(step: int, steps: int) -> float:
    """Linear warm-up, then a cosine down to nothing (Loshchilov and Hutter 2017)."""
    if step < WARM_UP_STEPS:
        return LEARNING_RATE * (step + 1) / WARM_UP_STEPS
    done = (step - WARM_UP_STEPS) / max(1, steps - WARM_UP_STEPS)
    return LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * done))


def train_model(model: Any, batches: Iterator[torch.Tensor], steps: int, *, begin: int, bfloat16: bool) -> None:
    """Train in place with AdamW; prints the mean loss (nats per token) of every fifty steps.

    Args:
        model: What :func:`build_model` returned.
        batches: Token ids, int64, shape [rows, tokens].
        steps: Batches to take.
        begin: Id of the begin token, which nobody has to foresee: it is no target.
        bfloat16: Multiply in bfloat16, which is faster on processors with matrix instructions, slower on others.
    """
    import torch

    decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    others = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], betas=(0.9, 0.95)
    )
    started, total = time.monotonic(), 0.0
    for step, batch in enumerate(islice(batches, steps)):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            loss = model(input_ids=batch, labels=batch.masked_fill(batch == begin, -100)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total += float(loss.detach())
        if (step + 1) % 50 == 0:
            print(f"step {step + 1}/{steps} loss {total / 50:.4f} {time.monotonic() - started:.0f} s", flush=True)
            total = 0.0


def save(model: Any, tokenizer: Any, directory: Path) -> None:
    """Write model (float16) and tokenizer as a transformers directory."""
    import torch
    from transformers import GenerationConfig, PreTrainedTokenizerFast

    model.to(torch.float16)
    ids = {f"{name}_token_id": getattr(model.config, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    model.generation_config = GenerationConfig(**ids)  # type: ignore[no-untyped-call]
    model.save_pretrained(directory)
    (directory / "model.safetensors").chmod(0o644)  # written readable for the owner only
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=END,
        clean_up_tokenization_spaces=False,
        model_max_length=model.config.max_position_embeddings,
    ).save_pretrained(directory)


def load(directory: Path) -> tuple[Any, Any]:
    """Tokenizer and model as :func:`save` wrote them, the model in float32 and ready to be trained."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(directory).backend_tokenizer
    return tokenizer, AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).train()


def main(arguments: list[str] | None = None) -> None:
    """The command line; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m sfgen.models.tiny.train", description="Train the embedded model.")
    parser.add_argument("--steps", type=int, default=4400, help="optimizer steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of corpus and weights (default: %(default)s)")
    parser.add_argument("--start", type=Path, help="go on from the tokenizer and the weights in this directory")
    parser.add_argument("--output", type=Path, default=DIRECTORY, help="directory to write (default: the package's)")
    parser.add_argument("--threads", type=int, default=2, help="processor threads (default: %(default)s)")
    parser.add_argument(
        "--bfloat16",
        action="store_true",
        help="multiply in bfloat16: faster on processors with matrix instructions, slower on others",
    )
    options = parser.parse_args(arguments)

    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    if options.start:
        tokenizer, model = load(options.start)
    else:
        tokenizer = train_tokenizer(options.seed, TOKENIZER_DOCUMENTS)
        model = build_model(tokenizer)
    print(f"{tokenizer.get_vocab_size()} tokens, {model.num_parameters()} parameters", flush=True)
    source = rows(tokenizer, options.seed + 1)
    batches = (torch.tensor(list(islice(source, ROWS_PER_STEP))) for _ in range(options.steps))
    train_model(model, batches, options.steps, begin=tokenizer.token_to_id(BEGIN), bfloat16=options.bfloat16)
    save(model, tokenizer, options.output)


if __name__ == "__main__":
    main()
