"""Traces: what ``gen`` and ``ban`` write with ``--trace``, and ``replay`` reads.

**The format, version 1.** A trace is JSON Lines in UTF-8: each line is an object, ends in a newline, and is written as
soon as it is known. A run that was killed leaves a trace whose last line may be cut short; readers leave that line out.
Lines of nothing but white space mean nothing. Readers pass over keys that they do not know; within a version keys may
be added, none go away, and none change their meaning. A key that is marked with ``?`` may be missing; its value is then
the one that is told.

Each sample of a run begins with a line that has the key ``trace``, and has a number from 0. All other lines are events
of a sample, in the order in which they happened. The lines of several samples may stand side by side, as they do where
several texts are generated at once. A sample ends with ``finished`` or ``error``, and nothing follows; one without an
end was killed.

Types: ``whole`` is a whole number from 0 to 2⁶³-1 if nothing else is told; ``share`` a number from 0 to 1, up to
rounding (what is no finite number is written as 0); ``truth`` is ``true`` or ``false``; ``T or null`` may be ``null``;
``list of T`` is a list, ``JSON`` any value. ``text`` is a string; what is not Unicode text, that is bytes that are no
UTF-8 and text with lone surrogates, is an object ``{"hex": "e8a9"}`` with the bytes in hexadecimal digits (of
surrogates those that UTF-8 would give them if it could). A capitalized type is an object with the keys that are listed
under its name.

**The first line of a sample**::

    trace              whole            The version of the format: 1.
    sfgen              text             The version of sfgen that wrote it. For people: readers need not look at it.
    sample             whole            The number of the text in the run, from 0.
    prompt             text             The user's text.
    model              text             The model, as the user named it.
    vocabulary_size    whole            Number of tokens, at least 1.
    pattern?           text or null     What the text must match; null: free text, or choices.
    choices?           list of text or null  The texts that it is one of; null: no choices.
    words?             list of text     Banned words; []: none.
    banned_patterns?   list of text     Banned patterns; []: none.
    seed?              whole or null    What the text is drawn from, however large; null: nothing is drawn.
    line?              whole or null    The line of --input that has the prompt, from 1; null: there is no such file.
    schema?            text or null     What people call the schema that the text is written by; null: no schema.
    schema_json?       text or null     That schema with the options of how it is written, as JSON; null: no schema.
    grammar?           text or null     What people call the grammar that the text is one of; null: no grammar.
    grammar_json?      text or null     That grammar with the options of how it is read, as JSON; null: no grammar.

**Every other line**::

    sample             whole            The number of the sample.
    seconds            number           When, in seconds since the sample began; at least 0, rounded to microseconds.
    event              text             Which of the following.

**token_chosen**, a token was appended::

    position           whole            Index of the token in the generated sequence: the number of those that stand.
    token_id           whole            The token, below vocabulary_size.
    data               text             Its bytes; empty for an end token.
    state              whole            The guide's state before it; may be negative.
    next_state         whole            The guide's state after it; may be negative.
    allowed            whole            How many tokens were allowed here, at most vocabulary_size.
    forced             truth            Whether it was the only one, so that the model was not asked.
    probability        share or null    The probability with which it was drawn: among the allowed tokens, after
                                        temperature and truncation; null if it was forced or chosen greedily.
    forward_passes?    whole            How often the model was asked until now; 0 where it was not told.
    outlook?           Outlook or null  What the model found likely here; null if it was not asked.
    watch?             Watch or null    What the ban has under way after the token; null without a ban.
    described?         text or null     What the guide says of its position after it; null: no more than next_state.

**Outlook**::

    before             list of Candidate  The likeliest of all tokens, the likeliest first.
    after              list of Candidate  The likeliest of those that may stand there.
    removed            share            The probability that the model gave to the tokens that may not stand there.

**Candidate**::

    token_id           whole            The token.
    data               text or null     Its bytes; null for a token without text.
    is_end             truth            Whether it ends the text.
    before             share            The model's probability of it among all tokens, at temperature 1.
    after              share            The same among the tokens that may stand there; 0 if it may not.

**Watch**::

    open_from          whole or null    The byte of the generated text where the earliest match begins that may still
                                        become complete; negative if that is in the prompt; null if none may.
    words              list of text     Some of the banned words and patterns that may become complete.

**rolled_back**, tokens were taken back::

    position           whole            Index of the first token that was taken back; all from there on were.
    word               text or null     The banned word whose match was complete; null if nothing but banned text could
                                        have followed.
    token_ids          list of whole    The tokens that were taken back, at least one.
    data               text             Their bytes.
    state              whole            The guide's state after the rollback; may be negative.
    probability        share or null    The model's probability of the first of them among the tokens that the guide
                                        allows there, at temperature 1; null if the model was not asked.
    place              whole            Index at which tokens were ruled out; at least position.
    ruled_out          whole            How many tokens were ruled out there at once.

**block_moved**, a block under ``resample`` got too long::

    position           whole            Index of the token where it begins now; a rollback goes back no further.
    tokens             whole            How many tokens it had.

**block_closed**, no banned word is under way::

    position           whole            The number of tokens that stay.

**text_released**, text that will never be taken back::

    text               text             What a stream may write now.

**finished**, the end::

    result             Result           What came out.

**Result**::

    text               text             The text that the run wrote.
    token_ids          list of whole    The generated tokens, without the end token.
    finish_reason      text             "complete", "end_token", "stop" or "limit".
    prompt_tokens      whole            Number of tokens of the prompt.
    forward_passes     whole            How often the model was asked.
    forced_tokens      whole            Tokens that were not asked for, since nothing else was allowed.
    rollbacks?         list of RolledBack  Every rollback again, in order, with the keys of rolled_back; []: none.
    moved_blocks?      whole            How often a block got too long; 0: never.
    value?             JSON             The parsed text where it is written by a schema; null: there is none.

**error**, the end of a sample that failed::

    message            text             What was wrong, on one line.
    details?           list of text     Lines that show where; []: none.
    hint?              text             What to do instead; "": nothing to say.

**From Python**: ``read_trace`` reads a whole file; every value is what the run had.
"""

from sfgen.trace.errors import TraceError
from sfgen.trace.reading import Failure, Recording, Trace, parse_trace, read_trace
from sfgen.trace.writing import VERSION, TraceFile, Tracer, refuse_to_replace, tracing

__all__ = [
    "VERSION",
    "Failure",
    "Recording",
    "Trace",
    "TraceError",
    "TraceFile",
    "Tracer",
    "parse_trace",
    "read_trace",
    "refuse_to_replace",
    "tracing",
]
