"""``sfgen gen``: text that matches a pattern."""

from __future__ import annotations

from sfgen_cli import options
from sfgen_cli.constraints import read_banned, read_constraint
from sfgen_cli.generation import Request, run
from sfgen_cli.output import note
from sfgen_cli.prompts import looks_like_a_pattern, read_prompt


def gen(
    prompt: options.Prompt = None,
    regex: options.Regex = None,
    regex_file: options.RegexFile = None,
    choices: options.Choices = None,
    choices_file: options.ChoicesFile = None,
    index: options.IndexFile = None,
    prompt_file: options.PromptFile = None,
    model: options.Model = "tiny",
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    trust_remote_code: options.TrustRemoteCode = False,
    temperature: options.Temperature = None,
    seed: options.Seed = None,
    samples: options.Samples = 1,
    max_tokens: options.MaxTokens = 256,
    ban_words: options.Words = None,
    ban_words_file: options.WordsFile = None,
    json: options.Json = False,
    echo: options.Echo = False,
    quiet: options.Quiet = False,
    live: options.Live = None,
) -> None:
    r"""Write text that matches a pattern, or free text.

    [bold]sfgen gen --regex '\{"name":"[A-Z]\[a-z]{2,9}","age":[1-9][0-9]\}' 'A person: ' | jq .name[/]

    [bold]sfgen gen --choices hot,cold,hotel --json 'It is ' | jq -r .text[/]
    """
    constraint = read_constraint(regex, regex_file, choices, choices_file, index)
    text = read_prompt(prompt, prompt_file, stdin_taken=str(ban_words_file) == "-")
    banned = read_banned(ban_words, ban_words_file)
    if not constraint and looks_like_a_pattern(text):
        note(f"sfgen: the prompt looks like a pattern; to match it: sfgen gen --regex {text!r}", quiet=quiet)
    run(
        Request(
            prompt=text,
            constraint=constraint,
            banned=banned,
            model=model,
            tokenizer=tokenizer,
            device=device,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            temperature=temperature,
            seed=seed,
            samples=samples,
            max_tokens=max_tokens,
            json=json,
            echo=echo,
            quiet=quiet,
            live=live,
        )
    )
