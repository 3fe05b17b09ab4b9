"""Ban words in a chat: however the tokenizer cuts them, they do not come out, and nothing shown is taken back.

``talk*`` bans all words that begin so; a pattern is banned, too. Text is released once no banned word can reach back to
it. In brackets stands what the model had written before, which nobody has read. What it prints:

    You: Can we talk?
    I am here to [listen.][talk]help you. What do you want to [talk]know?
    You: I had a bad day.
    Do you want to [talk][go for a]come to the cinema with us?
"""

import sfgen

BANNED = sfgen.BannedWords(["talk*", "listen"], patterns=[r"[Gg]o for \w+"], normalize=True)

model = sfgen.load_model("tiny")
chat = ""
for said in ("Can we talk?", "I had a bad day."):
    print(f"You: {said}")
    chat += f"{said}\n"
    for event in sfgen.stream(model, chat, banned=BANNED, stop="\n", max_tokens=40):
        if isinstance(event, sfgen.TextReleased):
            print(event.text, end="", flush=True)
            chat += event.text
        elif isinstance(event, sfgen.RolledBack):
            print(f"[{event.text.strip()}]", end="", flush=True)
    print()
    chat += "\n"
