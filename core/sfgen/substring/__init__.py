"""Verbatim quotation: the texts of a document, over sorted suffixes instead of an automaton's table."""
