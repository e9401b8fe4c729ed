"""Reads C for mutation: the original text, its tokens and the trees of its functions, all by offset."""

from ol.csource.reader import Function, NotMutated, Source, read
from ol.csource.tokens import Kind, Lines, Token

__all__ = ["Function", "Kind", "Lines", "NotMutated", "Source", "Token", "read"]
