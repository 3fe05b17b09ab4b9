"""One page that shows a run: HTML that stands alone, to step through in a browser.

``sample_data`` makes data of a recording, in columns with a value for each step; what is known at a step is what
the live view knows of that moment. ``Tried`` has its tokens as a trie, so that the text after any step is a path in it,
and what was rolled back the branches beside it. ``page`` puts the data into ``page.html`` with the style and the
scripts of ``sfgen.page``.
"""
