"""Models in GGUF files, the format of llama.cpp, run by its library through the package llama-cpp-python.

``files`` and ``header`` read what a file says of itself, and refuse a damaged one before a program in C sees it;
``preflight`` refuses what cannot be used. ``library`` is the one place that imports the package. ``loaded`` is a model
in C, with its tokens; ``vocabulary`` and ``tokenizer`` are made of them. ``context`` holds what texts have read;
``pool`` keeps contexts for the next text; ``sequences`` reads, takes back and reads again; ``session`` and ``batch``
are what the decode loop asks; ``model`` puts it together.
"""
