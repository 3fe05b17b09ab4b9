"""Command lines without a meaning."""

from __future__ import annotations

from error_case import Case, Terminal, both, files, patched

USAGE = [
    # --- what Typer finds
    Case("gen --regx a", 2, "No such option: --regx"),
    Case(["gen", "-5 degrees"], 2, "put -- before it"),
    Case(["gen", "- a list"], 2, "put -- before it: sfgen gen … -- '- a list'"),
    Case(["gen", "-n a flag"], 2, "put -- before it: sfgen gen … -- '-n a flag'"),
    Case("gen --samples 0", 2, "--samples"),
    Case("gen --samples many", 2, "--samples"),
    Case("gen --max-tokens -1", 2, "--max-tokens"),
    Case("gen --dtype float7", 2, "--dtype"),
    Case("gen --slow -1 x", 2, "Invalid value for '--slow'"),
    Case("gen --top-k 2.5", 2, "--top-k"),
    Case("gen a b", 2, "unexpected extra argument"),
    Case("gen --regex", 2, "Option '--regex' requires an argument."),
    Case("gen --json=1", 2, "Option '--json' does not take a value."),
    Case("ban --words a --match fuzzy x", 2, "--match"),
    Case("index -r a --format csv", 2, "--format"),
    Case("frobnicate", 2, "No such command 'frobnicate'"),
    Case(["gen", "--no\x1b[31m\nsuch"], 2, r"No such option: --no\x1b[31m\x0asuch"),
    # --- prompts
    Case("gen x --prompt-file f", 2, "the prompt was given twice"),
    Case("gen - --ban-words-file - -m uniform", 2, "cannot both come from stdin"),
    Case("ban - --words-file -", 2, "cannot both come from stdin"),
    Case("gen --prompt-file /no/such/file", 1, "cannot read /no/such/file"),
    Case("gen -m uniform -r a", 1, "stdin is not UTF-8: line 2, byte 8", stdin=b"one\ntwo \xff"),
    Case("gen -m uniform -r a --prompt-file f", 1, "f is not UTF-8: line 1, byte 0", files(f=b"\xff")),
    # --- constraints
    Case("gen --regex a --choices b", 2, "--regex and --choices cannot be used together"),
    Case("gen --regex a --index f --choices-file g", 2, "cannot be used together"),
    Case("gen --choices ,", 2, "nothing to choose from"),
    Case("gen --choices-file f", 2, "nothing to choose from", files(f="\n\n")),
    Case("gen --regex-file /no/such/file", 1, "cannot read /no/such/file"),
    Case("gen --choices-file /no/such/file", 1, "cannot read /no/such/file"),
    Case(["gen", "--choices", "a\udcff"], 2, "contains a surrogate code point, which is not text"),
    Case("gen --choices aaa,bbb", 2, "than the limit of 5", patched("sfgen.automata.dfa.MAX_DFA_STATES", 5)),
    # --- sampling
    Case("gen -r a -t -1 -m uniform", 2, "temperature must be"),
    Case("gen -r a -t nan -m uniform", 2, "temperature must be"),
    Case("gen -r a --seed -1 -m uniform", 2, "seed must be"),
    Case("gen --top-k 0 -m uniform", 2, "top-k must be"),
    Case("gen --top-p 1.5 -m uniform", 2, "top-p must be a number from 0 to 1"),
    Case("gen --top-p nan -m uniform", 2, "top-p must be a number from 0 to 1"),
    Case("gen --min-p -1 -m uniform", 2, "min-p must be a number from 0 to 1"),
    Case("gen --stop '' -m uniform", 2, "a stop string is empty"),
    Case(["gen", "--stop", "a\udcff", "-m", "uniform"], 2, "a stop string is no valid text"),
    Case("gen --stop b -r a x", 2, "they already say where the text ends"),
    Case("gen --stop b --choices a x", 2, "--stop cannot be used with a pattern"),
    Case("gen --stop b --index f x", 2, "--stop cannot be used with a pattern"),
    # --- output
    Case("gen --json --echo x", 2, "the record has the prompt"),
    Case("ban --words a --json --echo x", 2, "the record has the prompt"),
    Case("gen --live --quiet x", 2, "--live and --quiet cannot be used together"),
    Case("gen --slow 9 --no-live x", 2, "--slow and --no-live cannot be used together"),
    # --- engines
    Case("gen --engine naive x", 2, "--engine says how a pattern is followed"),
    Case("gen --no-fast-forward x", 2, "--no-fast-forward says how a pattern is followed"),
    Case("gen --engine fsm --index f x", 2, "--index cannot be used together"),
    Case("gen --engine naive -r a --ban-words b x", 2, "banned words cannot be used together"),
    # --- models
    Case("gen -r a --tokenizer x", 2, "model uniform only"),
    Case("gen --chat x -m uniform", 2, "the model uniform has no chat template"),
    Case("gen --chat x", 2, "no chat template"),
    Case("gen -m zip: x", 2, "zip: names no file"),
    # --- ban
    Case("ban x", 2, "no words to ban"),
    Case("ban --regex a+ --words b x", 2, "sfgen gen --regex a+ --ban-words b"),
    Case("ban --words a --routes --compare", 2, "--routes and --compare cannot be used together"),
    Case("ban --words a --pattern b --routes", 2, "--routes lists the spellings of words"),
    Case("ban --words a --routes --live", 2, "--routes and --live cannot be used together"),
    # --- index
    Case("index", 2, "no pattern and no file"),
    Case("index --save", 2, "sfgen index --regex '(hot|cold|hotel)' --save"),
    Case("index --save f", 2, "--save needs a pattern"),
    Case("index -r a --force", 2, "--force means something with --save only"),
    Case("index -r a file", 2, "cannot be shown together"),
    Case("index -r a --tokenizer a --vocabulary b", 2, "cannot be used together"),
    Case("index -r a --tokenizer a --model b", 2, "cannot be used together"),
    Case("index --choices a --engine fsm", 2, "--engine fsm needs a pattern"),
    Case("index -r a --state 99", 2, "there is no state 99: the index has 2"),
    Case("index -r a --json --format dot", 2, "--json and --format dot cannot be used together"),
    Case("index -r a --state 0 --format dot", 2, "--state and --format dot cannot be used together"),
    Case("index -r a --tokens", 2, "--tokens means something with a graph only"),
    Case("index -r a --max-states 3 --json", 2, "--max-states cuts tables and graphs"),
    Case("index -r a --path a --ids", 2, "--ids names tokens"),
    Case("index -r a --live", 2, "--live and --slow show how a text walks"),
    Case("index -r a --engine fsm --state 0", 2, "--engine fsm and --state cannot be used together"),
    Case("index -r a --path a -m uniform", 2, "--path reads characters, not tokens: --model has no meaning"),
    # --- check
    Case("check abc", 2, "nothing to look for"),
    Case("check - --words-file -", 2, "stdin can be read once only"),
    Case("check -r a", 2, "no text to look at", stdin=Terminal()),
    # --- completion
    Case(
        "--show-completion",
        2,
        "cannot tell which shell this is",
        both(
            patched("shellingham.detect_shell", lambda: ("tcsh", "")),
            lambda monkeypatch: monkeypatch.setenv("SHELL", "/bin/tcsh"),
        ),
    ),
    Case(
        "--install-completion fish",
        1,
        "cannot install the completion of fish",
        both(files(home="a file"), lambda monkeypatch: monkeypatch.setenv("HOME", "home")),
    ),
]
