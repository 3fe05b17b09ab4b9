"""One run of ``gen`` or ``ban``: what was asked for, and the texts."""
