"""Draw exactly: with ``strategy="exact"`` texts come out as often as the model itself would write them.

Masks choose token by token: a text that begins likely and goes on unlikely comes out too often. Exact draws know the
whole text. A ban then only takes texts away: with the same seeds all others come out as before. What it prints:

    text    masks  exact
    cold     45 %   80 %
    cool     12 %   20 %
    hot      19 %    0 %
    hotel    24 %    0 %
    With a ban of cold 20 of the 20 other texts are the same.
    The likeliest text: cold
"""

from dataclasses import replace

import sfgen

SEEDS = range(100)
CHOICES = ["cold", "cool", "hotel", "hot", "old"]
MASKS = sfgen.GenerationConfig(choices=CHOICES, temperature=1.0)
EXACT = sfgen.GenerationConfig(choices=CHOICES, temperature=1.0, strategy="exact")

model = sfgen.load_model("tiny")


def draws(config: sfgen.GenerationConfig) -> list[str]:
    """One text for each seed."""
    return [sfgen.generate(model, "It is very ", config, seed=seed).text for seed in SEEDS]


masked, exact = draws(MASKS), draws(EXACT)
print("text    masks  exact")
for text in sorted({*masked, *exact}):
    print(f"{text:6} {masked.count(text):4} % {exact.count(text):4} %")

others = [number for number, text in enumerate(exact) if text != "cold"]
without = draws(replace(EXACT, banned=["cold"]))
same = sum(without[number] == exact[number] for number in others)
print(f"With a ban of cold {same} of the {len(others)} other texts are the same.")
print("The likeliest text:", sfgen.generate(model, "It is very ", EXACT, temperature=0).text)
