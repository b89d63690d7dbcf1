"""Names of authors: in declarations, links and bylines, none of them a call to read or follow something."""

import re
from collections.abc import Iterable

from dehusk.inference.metadata.values import clean, short_text, without_tags

# ruff: noqa: SIM905 -- words read better as a text than as strings

_MAX_LENGTH = 800
"""Characters of a text in which a name is looked for."""
_MAX_BYLINE = 100
"""Characters of the longest byline; a longer text is a teaser or a biography."""
_BEFORE_NAME = re.compile(
    r"^authors?\s*:\s*"
    r"|^(?:作者|撰文|撰稿人?|著者|執筆者?|작성자)(?:\s*[:：/／|]\s*|\s+)"
    r"|^(?:written |posted |published )?by\b[\s:]+|^(?:von|par|por|автор)\s*:\s+|^автор\s+"
    r"|^(?-i:par|por)\s+|^(?:von|par|por)\s+(?=\S+\s+\S)",
    re.IGNORECASE,
)
"""Words before a name; before a single one, `Von`, `Par` and `Por` are a part of it."""
_ADDRESS = re.compile(r"^https?://|^/|^www\.|@\w+\.\w|\.(?:com|org|net)/", re.IGNORECASE)
_OF_POST = re.compile(
    r"^[该該本]?(?:日志|日誌|文章|文|帖子?)由\s*(?P<name>\S.*?)\s*(?:(?:(?<=\s)[于於在]|[于於在](?=\s*\d)|发[布表]|發[布表佈]).*)?$"
)
"""Sentence of blogs in Chinese that says who posted."""
_KEY = re.compile(r"^[a-z_]+(?:\.[a-z_]+)*\.author(?:\.[a-z_]+)*$|\{\{|\}\}|^%\w+%$|^\$\w+$")
"""Name in a template that nobody filled in."""
_AROUND_NAME = " ,;:|/–—-·•"
"""Signs that are no part of a name, at either end."""
_LETTER = re.compile(r"[^\W\d_]")
_UNSET = frozenset(
    {
        *("undefined", "null", "none", "n/a", "[object object]", "unknown"),
        *("google +", "google+", "google plus", "admin", "administrator", "webmaster", "wp_user"),
    }
)
"""Words that scripts and templates print where nobody is named, and users that a system has at first."""
_WORDS = re.compile(r"[^\W\d_]+")

_MAX_WORDS = 4
"""Words of a person's name."""
_PARTICLES = frozenset("de del della da das dos di du van von der den ter la le al bin ibn zu zur".split())
_NO_PERSON = frozenset(
    """
    agency alliance and associated association blog board broadcasting bureau center centre channel chief
    church club college committee community company contributor corp corporation council county courier
    daily department desk digital dispatch editor editorial editors enquirer examiner express firm for
    foundation from gazette gmbh group guest herald hospital inc independent institute international
    journal lab labs law limited llc llp ltd magazine mail media ministry national network news newspaper
    newsroom observer office online partners photos pictures post press radio record redaktion register
    report reporter research review school senior sentinel service services society software solutions
    special staff standard star studio studios sun systems team technologies telegraph the times today
    tribune tv university video week weekly wire world writer writers zeitung
    """.split()
)
"""Words of the names of organisations and offices."""
_OFFICE = re.compile(
    r"(?:ist|ator|ctor|itor|rter|iter|dent|tant|tion|ager|neer|cian|yst|oper|ogger|icer|founder|expert|lead)s?$",
    re.IGNORECASE,
)
"""End of the last word of what one does, as in `Garden Educator`."""
_CONJUNCTION = r"\s+(?:and|und|y|e|et|og|och|i|и|&)\s+"
_JOINED = re.compile(_CONJUNCTION)
_SEMICOLON = re.compile(r"\s*;\s*")
_BETWEEN_NAMES = re.compile(rf"\s*,{_CONJUNCTION}|\s*,\s*|{_CONJUNCTION}")
_WORD = r"[^\W\d_a-z][\w’'.-]*"
_NAME = rf"{_WORD}(?:\s+(?:(?:de|del|da|van|von|der|den|la|le|al|bin)\s+)*{_WORD}){{1,3}}"
_SAID = re.compile(
    rf"\b(?:by|von|por|par|di)\b\s*:?\s+(?P<names>{_NAME}(?:(?:,?\s+(?:and|und|y|et|&)\s+|,\s*){_NAME})*)"
)
_WHOLE = re.compile(_NAME)
_AND = re.compile(r",?\s+(?:and|und|y|et|&)\s+|,\s*")
_DAY_BEFORE = re.compile(
    r"^(?:posted\s+(?:on\s+)?)?(?:\w+day,?\s+)?"
    r"(?:[^\W\d_]+\.?\s+\d{1,2}|\d{1,2}(?:st|nd|rd|th)?(?:\s+of)?\s+[^\W\d_]+\.?),?\s+\d{4}"
    r"\s*(?:[|•·–—-]\s*|(?=by\b|von\b))",
    re.IGNORECASE,
)
"""Date at the beginning of a byline."""
_AFTER_NAME = re.compile(
    r"\s*(?:\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s*\d|\b\w+day\b,?\s+(?:\w+\.?\s+)?\d"
    r"|\b(?:last\s+)?(?:updated|published|posted|on|in)\b|\bat\s+\d|[|•·–—»]|\s[-@]|(?<![a-z0-9_])\d).*$",
    re.DOTALL | re.IGNORECASE,
)
"""Text after the names: a date, a place, another part of the line."""
_BY = re.compile(
    r"^(?:(?:(?:written|post(?:ed)?|published|submitted)\s+)?(?:by|von|por|par)\b|authors?(?=\s*:))",
    re.IGNORECASE,
)
_USER = re.compile(r"(?=.*[^\W\d_])\w[\w-]+")
_BY_ONE = re.compile(r"by\s*:?\s+(?P<name>\S+)")
"""Byline with a name of one word, which may be any."""
_NO_NAME = frozenset(
    {
        *("about", "author", "authors", "by", "posted", "written", "view", "share", "read", "more"),
        *("follow", "sign", "log", "in", "staff", "editor", "news", "reviewed"),
    }
)
_NO_USER = frozenset("comments guest newsdesk reply root team user".split()) | _UNSET
"""Names of one word that name nobody."""

_CALLS = frozenset(
    """
    a about all an and article articles at author authors bio biography blog blogs by browse click
    comment contact continue discover email entire entries entry every expand explore feed find follow
    for from full get go here his her home in join latest learn less like link load log login me more my
    next newer now of older on or other our page posts post previous profile rss recent read register
    reading see share show sign site stories story subscribe the their them this tweet to twitter up us
    view visit website wikipedia with works written writer writers you your aller leyendo leggendo lendo
    lisant alle alles anzeigen artikel artikeln autor autoren autors beitrag beiträge beiträgen dem den
    der des die diesem dieses folgen lesen mehr neueste profil seite teilen über vom von weitere
    weiteren weiterlesen zeige zum zur zurück abonnez abonner auteur auteurs autres billets cet contenus
    de du en et la le les lire partager plus publications savoir ses son suite sur suivre tous tout
    toutes voir vous artículo artículos autora autores compartir del el entradas esta este leer los las
    más mas otros otras perfil publicaciones seguir sobre su suscribirse todas todo todos un una ver y
    altri altro articoli articolo autore autori condividi continua dell di gli i il legge leggi leggere
    profilo questo segui tutti tutto vedi visualizza artigo artigos as compartilhar continuar deste e
    leia ler mais matérias o os outros postagens publicações siga textos veja artikelen bekijk berichten
    deel delen deze het lees meer over profiel van verder volg alla fler författaren följ inlägg läs mer
    visa artykuł artykuły czytaj dalej inne obserwuj pozostałe tego udostępnij więcej wpisy wszystkie
    zobacz bu daha devamını diğer fazla gör göster hakkında oku paylaş takip tüm tümü yazarın yazıları
    yazılar автор автора авторе авторы больше все всі далее дальше другие ещё еще записи записів на об о
    от подписаться подробнее посмотреть профиль прочитать публикации смотреть статьи статті страница
    читать читати показать اقرأ المزيد تابع جميع عرض كل الكاتب مقالات المقالات المؤلف عن
    """.split()
)
"""Words of calls to view, read, follow and share, and of what they are about; a name has one more."""
_UNSPACED_CALLS = re.compile(
    "查看|更多|阅读全文|閱讀|关注|關注|全部文章|所有文章|もっと|続きを|一覧|フォロー"
    "|더 ?보기|팔로우|구독|전체보기|전체 ?기사"
)
"""Calls of languages that put none or few spaces between words."""
_WORKS_BY = re.compile(
    r"^(?:(?:(?:view|see|show|read|browse|more|all)\b.*?\b)?"
    r"(?:posts?|articles?|stories|entries|works|content)\s+(?:written |posted |published )?"
    r"|(?:(?:view|see|show|read|browse)\s+)?(?:more|all)\s+)by\s+(?P<name>\S.*)$",
    re.IGNORECASE,
)
_FOLLOW = re.compile(r"^(?:follow|view|subscribe|click|visit|contact)\b", re.IGNORECASE)
"""First word of a call that no name begins with."""


def author_name(text: str) -> str | None:
    """Return a name without markup or a leading `by`.

    None for an address, a text without a letter, or a call such as `View more posts`.
    """
    author = declared_name(text)
    return None if author is None or is_call(author) else author


def declared_name(text: str) -> str | None:
    """Return the name of a person or an organisation, as `author_name` does; it may read like a call."""
    name = clean(without_tags(clean(text[:_MAX_LENGTH])))
    if works := _WORKS_BY.match(name) or _OF_POST.match(name):
        name = works["name"]
    author = short_text(_BEFORE_NAME.sub("", name))
    if author is None or author.lower() in _UNSET:
        return None
    if _ADDRESS.search(author) or not _LETTER.search(author) or _KEY.search(author):
        return None
    return author.strip(_AROUND_NAME)


def split_names(text: str) -> list[str]:
    """Return the names of persons in a text that holds nothing else, else the text as it is.

    A single comma may stand between a surname and first names, or a name and an office.
    """
    separator = _SEMICOLON if ";" in text else _BETWEEN_NAMES
    names = [name.strip() for name in separator.split(text)]
    if separator is _BETWEEN_NAMES and len(names) == 2 and not _JOINED.search(text):
        return [text]
    return names if len(names) > 1 and all(map(_is_person, names)) else [text]


def _is_person(name: str) -> bool:
    """Return True for a first name and a surname, not the name of an office or an organisation."""
    words = name.split()
    if not 1 < len(words) <= _MAX_WORDS or not words[0][0].isupper() or not words[-1][0].isupper():
        return False
    return (
        all(word[0].isupper() or word in _PARTICLES for word in words)
        and not any(map(str.isdigit, name))
        and _NO_PERSON.isdisjoint(word.rstrip(".").lower() for word in words)
        and not _OFFICE.search(words[-1])
    )


def is_call(text: str) -> bool:
    """Return True for a call to view, read, follow or share something, and for what is called so."""
    if _FOLLOW.match(text) or (not text.isascii() and _UNSPACED_CALLS.search(text)):
        return True
    return _CALLS.issuperset(_WORDS.findall(text.lower()))


def authors_in(bylines: Iterable[str]) -> list[str]:
    """Return the names in the first text that has any, else the one word that all texts are."""
    short = [text for text in bylines if 0 < len(text) <= _MAX_BYLINE or _begins_byline(text)]
    for text in short:
        if names := _names_in(text):
            return names
    words = {text.strip(_AROUND_NAME) for text in short}
    return [name for name in words if len(words) == 1 and _is_word(name)]


def _names_in(byline: str) -> list[str]:
    """Return the names after `by`, or a text that is a name and nothing else."""
    line = _name_line(byline)
    if found := _SAID.search(line):
        return [name for name in _AND.split(found["names"]) if _is_name(name)]
    if (one := _BY_ONE.fullmatch(line)) and _is_word(one["name"]):
        return [one["name"]]
    return [line] if _WHOLE.fullmatch(line) and _is_name(line) else []


def _name_line(byline: str) -> str:
    """Return a byline without a date before the names, and without what follows them."""
    return _AFTER_NAME.sub("", _BY.sub("by", _DAY_BEFORE.sub("", byline))).strip(_AROUND_NAME)


def _begins_byline(text: str) -> bool:
    """Return True for a longer text that names an author first, before a date, for example."""
    return _BY.match(text) is not None and len(_name_line(text[: 2 * _MAX_BYLINE])) <= _MAX_BYLINE // 2


def _is_word(text: str) -> bool:
    """Return True for a name of one word, such as one that a user has chosen."""
    return _USER.fullmatch(text) is not None and text.lower() not in _NO_USER and _is_name(text)


def _is_name(text: str) -> bool:
    return _NO_NAME.isdisjoint(text.lower().split()) and not is_call(text)
