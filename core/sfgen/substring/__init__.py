"""Verbatim quotation: the texts that stand in a document, over sorted suffixes in place of an automaton's table."""
