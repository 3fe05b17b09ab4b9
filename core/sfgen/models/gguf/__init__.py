"""Models in GGUF files, the format of llama.cpp, run by its library through the package llama-cpp-python.

``header`` reads what the files say of themselves, and refuses damaged or unusable ones before a program in C sees them.
``library`` is the one place that imports the package. ``loaded`` is a model in C, with its tokens; ``vocabulary`` is
made of them. ``context`` holds what texts have read; ``session`` has the sessions and batches that the decode loop
asks; ``model`` puts it together.
"""
