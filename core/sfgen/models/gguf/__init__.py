"""Models in GGUF files, the format of llama.cpp, run by its library through the package llama-cpp-python.

``header`` reads the metadata of the files, and refuses damaged or unusable files before a program in C reads them.
``library`` alone imports the package. ``loaded_model`` is a model in C with its tokens; ``vocabulary`` is made of them.
``context`` is the KV cache; ``session`` has the sessions and batches for the decode loop; ``model`` puts all of it
together.
"""
