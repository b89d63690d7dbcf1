"""Kinds of page that an address names, by words in its host and path."""

import re

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.features import ADDRESS_FEATURES

_NAMES = {
    "article": """article articles blog blogs news post posts recipe recipes stories story
        actualites artikel nachrichten noticia noticias novosti""",
    "documentation": """api doc docs documentation faq guide guides handbook help kb manual reference support
        tutorial tutorials wiki""",
    "forum": """board boards communities community discuss discussion discussions forum forums question
        questions showthread thread threads topic viewthread viewtopic foro foros""",
    "listing": """archive archives author authors catalog categories category collection collections list page
        search tag tags topics categoria categorie kategorie""",
    "product": """dp item itm p product products shop store prodotto produit produits produkt produkte
        producto productos""",
    "service": """pricing service services solution solutions dienstleistungen leistungen servicios
        servizi""",
}
_PLACES = {each.name: place for place, each in enumerate(ADDRESS_FEATURES)}
_COLUMNS = {
    name: _PLACES[f"address_names_{kind}"] for kind, names in _NAMES.items() for name in names.split()
}
"""Column of each word, in the languages that pages are most often of."""
_WORD = re.compile(r"[^\W_]+")


def name_kinds(url: str, columns: npt.NDArray[np.uint8]) -> None:
    """Write the columns of the kinds of page that a URL names; without a scheme, it is none."""
    _, _, place = url.lower().partition("//")
    for word in _WORD.findall(place):
        if word in _COLUMNS:
            columns[_COLUMNS[word]] = 255
