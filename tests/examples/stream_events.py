r"""Follow a generation event by event: each token with what was likely there, what was taken back, and the text.

Text is released once no banned word can reach back to it, so a reader never sees anything vanish. What it prints:

    token  0 b' '  (b' ' 0.85, b'\n' 0.14)
    text  ' '
    token  1 b'I'  (b'I' 0.34, b'Of' 0.28)
    text  'I'
    token  2 b' '  (b' ' 1.00, b'f' 0.00)
    text  ' '
    token  3 b'am'  (b'am' 0.86, b'would' 0.05)
    text  'am'
    token  4 b' '  (b' ' 1.00, b'other' 0.00)
    text  ' '
    token  5 b'here'  (b'here' 0.72, b's' 0.10)
    text  'here'
    token  6 b' '  (b' ' 1.00, b'.' 0.00)
    text  ' '
    token  7 b'to'  (b'to' 0.86, b'for' 0.12)
    text  'to'
    token  8 b' '  (b' ' 1.00, b'm' 0.00)
    text  ' '
    token  9 b'listen'  (b'listen' 0.47, b'talk' 0.20)
    token 10 b'.'  (b'.' 0.61, b' ' 0.38)
    back  'listen.'
    token  9 b'talk'  (b'listen' 0.47, b'talk' 0.20)
    token 10 b' '  (b' ' 0.96, b'.' 0.04)
    back  'talk '
    token  9 b'help'  (b'listen' 0.47, b'talk' 0.20)
    text  'help'
    token 10 b' '  (b' ' 0.99, b'.' 0.01)
    text  ' '
    end   limit after 13 forward passes
"""

import sfgen

model = sfgen.load_model("tiny")
for event in sfgen.stream(model, "Can we talk?", banned=["talk", "listen"], max_tokens=11, observe=True):
    if isinstance(event, sfgen.TokenChosen):
        likely = event.outlook.before[:2] if event.outlook else ()
        told = ", ".join(f"{each.data!r} {each.before:.2f}" for each in likely)
        print(f"token {event.position:2} {event.data!r}  ({told})")
    elif isinstance(event, sfgen.RolledBack):
        print(f"back  {event.text!r}")
    elif isinstance(event, sfgen.TextReleased):
        print(f"text  {event.text!r}")
    elif isinstance(event, sfgen.Finished):
        print(f"end   {event.result.finish_reason} after {event.result.forward_passes} forward passes")
