"""Classify a file: each line of it gets one of a few labels, with how sure the model is.

The labels are scored as whole texts behind a prompt (``sfgen.score``); nothing is written. What it prints:

    99 %  delivery  The parcel that was promised for Friday is not here yet.
     99 %  login     Since yesterday the page does not take my password.
     81 %  billing   My card was charged two times for one chair.
     91 %  bug       The app crashes whenever I rotate the phone.
"""

from pathlib import Path

import sfgen

TICKETS = """\
The parcel that was promised for Friday is not here yet.
Since yesterday the page does not take my password.
My card was charged two times for one chair.
The app crashes whenever I rotate the phone.
"""
LABELS = ["billing", "delivery", "login", "bug"]

Path("tickets.txt").write_text(TICKETS, encoding="utf-8")  # your file

model = sfgen.load_model("tiny")  # or a directory, a hub id, a GGUF file
for ticket in Path("tickets.txt").read_text(encoding="utf-8").splitlines():
    best, *_ = sfgen.score(model, f"{ticket}\nDepartment: ", LABELS)  # the likeliest comes first
    print(f"{100 * best.probability:3.0f} %  {best.text:8}  {ticket}")
