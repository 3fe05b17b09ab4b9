"""Train the embedded model, from a checkpoint if there is one; README.md says how the committed weights were made."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from training.corpus.copying.mixture import pairs

from .batches import Rows, batch
from .checkpoint import State, log
from .network import LENGTH, divide_scores, save
from .optimizer import learning_rate
from .score import copying_scores
from .tokenizer import load_tokenizer, save_tokenizer, train_tokenizer

if TYPE_CHECKING:
    import torch

TOKENIZER_DOCUMENTS = 60_000
REPEATED_STEPS = 3_000
"""Steps in which a part of the documents, first nearly half, are random tokens twice over."""


def repeated_share(step: int) -> float:
    """Return the share of repeated random documents at a step.

    Such a document is random tokens twice over. The share falls to a small one and stays there.
    """
    return max(0.03, 0.45 * (1 - step / REPEATED_STEPS))


def train_step(state: State, rows: Rows, rate: float, loss: Callable[..., torch.Tensor], *, bfloat16: bool) -> float:
    """Take one optimizer step; return the mean loss in nats for each weighted token."""
    import torch

    tokens, weights = torch.tensor(rows.tokens), torch.tensor(rows.weights)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
        found = loss(state.model, tokens, weights)
    found.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(state.model.parameters(), 1.0)
    state.optimizer.step(rate)
    state.count_step()
    return float(found.detach())


def begun(directory: Path, seed: int, weights: Path | None = None, step: int = 0) -> tuple[Any, State]:
    """Load a directory's tokenizer and training state, or begin new ones."""
    import torch

    from .transformer import Llama, Shape

    directory.mkdir(parents=True, exist_ok=True)
    if weights and not (directory / "tokenizer.json").exists():
        save_tokenizer(load_tokenizer(weights), directory, length=LENGTH)
    if not (directory / "tokenizer.json").exists():
        source = islice(pairs(Random(f"{seed} tokenizer")), TOKENIZER_DOCUMENTS)
        save_tokenizer(train_tokenizer(pair.prompt + pair.answer for pair in source), directory, length=LENGTH)
    tokenizer = load_tokenizer(directory)
    torch.manual_seed(seed)
    state = State(Llama(Shape(tokens=tokenizer.get_vocab_size())))
    if not state.load(directory) and weights:
        state.begin_from(weights, step)
    return tokenizer, state


def wait(pause_file: Path | None) -> None:
    """Sleep while a file exists."""
    while pause_file is not None and pause_file.exists():
        time.sleep(5)


def main(arguments: list[str] | None = None) -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m training", description="Train the embedded model, from a checkpoint."
    )
    add = parser.add_argument
    add("--directory", type=Path, required=True, help="checkpoint, log, and the weights as they are, in weights/")
    add("--steps", type=int, default=6_600, help="all steps, of which the last fifth slows down (default: %(default)s)")
    add("--stop", type=int, metavar="STEP", help="stop there, to go on later, perhaps with other settings")
    add("--from-weights", type=Path, metavar="DIR", help="where there is no checkpoint: begin from these weights")
    add("--from-step", type=int, default=0, metavar="STEP", help="the step they were made at (default: %(default)s)")
    add("--rows", type=int, default=16, help="rows of a step, of 256 tokens each (default: %(default)s)")
    add("--seed", type=int, default=0, help="of text and weights (default: %(default)s)")
    add("--threads", type=int, default=1, help="processor threads (default: %(default)s)")
    add("--every", type=int, default=250, help="steps between checkpoints (default: %(default)s)")
    add("--score", type=int, default=100, help="held-back pairs of a kind to score then (default: %(default)s)")
    add("--pause-file", type=Path, help="sleep while this file exists")
    add("--temperature", type=float, default=1.15, help="divide the finished model's scores (default: %(default)s)")
    add("--float32", action="store_true", help="multiply in float32, not in bfloat16")
    add("--compile", action="store_true", help="let torch compile the transformer: minutes first, a third faster then")
    options = parser.parse_args(arguments)

    import torch

    from .transformer import loss

    torch.set_num_threads(options.threads)
    computed: Callable[..., torch.Tensor] = torch.compile(loss) if options.compile else loss
    tokenizer, state = begun(options.directory, options.seed, options.from_weights, options.from_step)
    started, losses = time.process_time(), []
    last = min(options.steps, options.stop or options.steps)
    while state.step < last:
        wait(options.pause_file)
        rows = batch(
            tokenizer,
            seed=options.seed,
            step=state.step,
            rows=options.rows,
            repeated=repeated_share(state.step),
        )
        rate = learning_rate(state.step, options.steps, state.first_step)
        losses.append(train_step(state, rows, rate, computed, bfloat16=not options.float32))
        if state.step % 25 == 0:
            print(f"step {state.step} loss {sum(losses[-25:]) / 25:.3f}", flush=True)
        if state.step % options.every == 0 or state.step == last:
            state.save(options.directory)
            save(state.mean, state.model.shape, tokenizer, options.directory / "weights")
            if state.step == options.steps:
                divide_scores(options.directory / "weights", options.temperature)
            scores = copying_scores(state.model, tokenizer, state.mean, options.score)
            mean_loss = round(sum(losses) / len(losses), 4)
            seconds = round(time.process_time() - started)
            log(options.directory, step=state.step, loss=mean_loss, rate=rate, seconds=seconds, copied=scores)
            losses = []


if __name__ == "__main__":
    main()
