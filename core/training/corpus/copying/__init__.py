"""Text in which the answer stands in what came before: records, lists, labels, queries and calls made from sentences.

What is to be copied is drawn by :class:`~training.corpus.copying.words.Words`, from lists and from syllables,
too wide to be learnt by heart. One word in eight belongs to the evaluation alone.
"""
