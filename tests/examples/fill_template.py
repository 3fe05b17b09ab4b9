"""Fill a template: literal text with holes that the model writes, some of which are used again.

A hole may be a pattern, choices, a schema or a grammar; ``{{name}}`` alone repeats what a hole was given. What stands
before the first hole can become the prompt (``split``). What it prints:

    {"name": "Ada Lovelace", "age": 36, "job": "mathematician"}
    Dear Ada Lovelace, a mathematician of 36 is wanted here.
    {'name': 'Ada Lovelace', 'age': '36', 'job': 'mathematician', 'how': 'wanted'}
    {"name": "Maria Rossi", "age": 52, "job": "nurse"}
    Dear Maria Rossi, a nurse of 52 is welcome here.
    {'name': 'Maria Rossi', 'age': '52', 'job': 'nurse', 'how': 'welcome'}
"""

import sfgen

TEMPLATE = """\
{"name": "{{name: regex [A-Z][a-z]+ [A-Z][a-z]+}}", "age": {{age: regex [1-9][0-9]}}, "job": "{{job: regex [a-z]+}}"}
Dear {{name}}, a {{job}} of {{age}} is {{how: choices wanted,welcome}} here."""

model = sfgen.load_model("tiny")
template = sfgen.Template(TEMPLATE)
for sentence in ("Ada Lovelace, 36, is a mathematician in London.", "Maria Rossi, 52, works as a nurse in Madrid."):
    result = sfgen.generate(model, f"{sentence}\n", template=template)
    print(result.text)
    print(result.groups)
