"""Draw a whole text from the model on condition that all of it is allowed.

A text is drawn top-down with the Gumbel-max trick (Maddison, Tarlow and Minka 2014, "A* Sampling"; Kool, van Hoof and
Welling 2019, "Stochastic Beams and Where to Find Them"). Give each text the logarithm of its probability plus Gumbel
noise of its own: the text with the largest sum is an exact draw, and the largest *among the allowed texts* is an exact
draw on condition that the text is allowed. The sums of all texts with a common prefix have a largest one too, and that
can be drawn before any of these texts is looked at. So the prefixes are a tree that is opened from its root, always
where the largest sum is; what the automata show to be without an allowed text is dropped, and the first complete text
that comes up is the draw. Nothing is learnt on the way that could change it: it depends on the model and the seed
alone, whatever is kept in memory.

``noise`` is the noise of a prefix's children, ``prefixes`` the tree, ``scores`` what the model said, ``loop`` the
search. Rejection sampling of whole texts costs about ``1/Z`` texts, with ``Z`` the probability of allowed ones; this
search asks for no prefix twice, and for none of which the automata know that it is dead.
"""
