"""``sfgen gen``: text that matches a pattern, a schema or a grammar."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from sfgen_cli.options.bans import BanOptions, read_bans, read_word_bias
from sfgen_cli.options.batch import ManyOptions
from sfgen_cli.options.constraint import ConstraintOptions, Engine, IndexFile, NoFastForward, Scores
from sfgen_cli.options.generation import GenerationOptions, Prompt, read_messages
from sfgen_cli.options.grammar import WrittenGrammarOptions
from sfgen_cli.options.prompts import pattern_hint, read_prompt, reader_of_stdin, refuse_overwriting
from sfgen_cli.options.requested_constraint import doubts, read_constraint
from sfgen_cli.options.schema import SchemaOptions
from sfgen_cli.run.generation import run, show_prompt
from sfgen_cli.run.request import Request
from sfgen_cli.shell import process
from sfgen_cli.shell.command_classes import Named, flattened
from sfgen_cli.shell.one_time_notes import tell_of_demonstration
from sfgen_cli.shell.output import note
from sfgen_cli.shell.progress import progress


@flattened
def gen(
    prompt: Prompt = None,
    *,
    given: ConstraintOptions,
    index: IndexFile = None,
    grammar: WrittenGrammarOptions,
    writing: SchemaOptions,
    engine: Engine = None,
    no_fast_forward: NoFastForward = False,
    scores: Scores = False,
    bans: Annotated[BanOptions, Named("ban-")],
    generation: GenerationOptions,
    many: ManyOptions,
) -> None:
    r"""Write text that matches a pattern, a JSON Schema or a grammar, or free text.

    A JSON record, of which jq takes the age:
        sfgen gen --schema 'name, age int' 'Ada Lovelace, 36, is a mathematician in London.' | jq .age

    A text that matches a pattern, and one of a grammar:
        sfgen gen --regex '[A-Z][a-z]{2,9} is [1-9][0-9] years old\.' 'A person: '
        sfgen gen --grammar 'root ::= [0-9] ("+" [0-9])*' 'In our shop: '

    One of some answers; with [bold]--scores[/] how likely each of them is:
        sfgen gen --choices hot,cold,hotel 'It is very '

    Three different dates; the same command writes the same three again:
        sfgen gen --regex '20[0-9]{2}-(0[1-9]|1[0-2])' --seed 7 --samples 3 'Date: '

    Free text, with all that is known about it:
        echo 'Tell me a story' | sfgen gen --max-tokens 20 --json | jq '{text, finish_reason}'
    """
    files = {
        **given.files,
        "--grammar": grammar.grammar,
        "--ban-words-file": bans.words_file,
        "--input": many.input,
        **generation.files,
    }
    reader = reader_of_stdin(files, prompt=prompt)
    many.check(prompt, generation, instead="--show-prompt" if generation.show_prompt else "")
    written = {"--output": many.output, "--trace": generation.trace}
    if any(written.values()):
        others = {"--index": index, "--pydantic": given.code_file, "--model": generation.model_file}
        refuse_overwriting({**files, **others}, written)
    constraint = read_constraint(given, grammar, index_file=index, writing=writing, has_model=True)
    if any(written.values()):
        refuse_overwriting({file: file for file in constraint.files_beside}, written)
    for doubt in doubts(constraint, given.choices or ()):
        note(f"sfgen: {doubt}", quiet=generation.quiet)
    messages = read_messages(generation)
    banned = read_bans(bans, prefix="ban-", quiet=generation.quiet, has_bias=bool(generation.word_bias))
    biases = read_word_bias(generation.word_bias, bans)
    request = Request("", constraint, banned, generation, engine, not no_fast_forward, scores, messages, biases)
    if constraint.has_form:
        process.import_numpy()
        with progress(quiet=generation.quiet) as say:
            request = request.with_form(say)
        constraint = request.constraint
    if many.input is not None:
        from sfgen_cli.run.batch import run_many

        run_many(request, many)
        tell_of_demonstration(generation)
        return
    text = read_prompt(prompt, generation.prompt_file, reader=reader, quiet=generation.quiet)
    asks = any(message["role"] == "user" for message in messages)
    if not text and prompt is None and generation.prompt_file is None and not asks:
        request.check()  # what has no meaning is told before a saved template is looked for
        template = constraint.read_template
    else:
        template = None
    if template is not None and generation.when is None:  # what stands behind a marker is no prompt
        text, rest = template.split()
        request = replace(request, constraint=replace(constraint, template=rest, template_name=request.template_name))
    if generation.show_prompt:
        show_prompt(replace(request, prompt=text))
        return
    # Piped text may be a program, which has much in it that patterns have.
    typed = text if prompt in (None, "-") else prompt
    if not constraint and (hint := pattern_hint(typed)):
        note(f"sfgen: {hint}", quiet=generation.quiet)
    if scores:
        from sfgen_cli.run.scores import write_scores

        write_scores(replace(request, prompt=text))
    else:
        run(replace(request, prompt=text))
    tell_of_demonstration(generation)
