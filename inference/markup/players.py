"""The address under which a reader finds a video or a recording that a page embeds."""

import re
from collections.abc import Mapping

from dehusk.schemas.markup import Embedded

ATTRIBUTES = ("src", "data-src", "data-lazy-src", "title", "aria-label")
"""Attributes that are read."""

_VIDEO, _AUDIO = int(Embedded.VIDEO), int(Embedded.AUDIO)
_ID = r"(?P<id>[\w.-]{1,80})"
_HOSTS = [
    (rf"(?:youtube|youtube-nocookie)\.com/embed/(?!videoseries){_ID}", _VIDEO, "www.youtube.com/watch?v={}"),
    (
        rf"(?:youtube|youtube-nocookie)\.com/embed/videoseries\?(?:[^#]*&)?list={_ID}",
        _VIDEO,
        "www.youtube.com/playlist?list={}",
    ),
    (rf"player\.vimeo\.com/video/{_ID}", _VIDEO, "vimeo.com/{}"),
    (rf"(?:geo\.)?dailymotion\.com/embed/video/{_ID}", _VIDEO, "www.dailymotion.com/video/{}"),
    (rf"embed\.ted\.com/talks/(?:lang/\w+/)?{_ID}", _VIDEO, "www.ted.com/talks/{}"),
    (rf"archive\.org/embed/{_ID}", _VIDEO, "archive.org/details/{}"),
    (rf"loom\.com/embed/{_ID}", _VIDEO, "www.loom.com/share/{}"),
    (rf"streamable\.com/[eos]/{_ID}", _VIDEO, "streamable.com/{}"),
    (r"open\.spotify\.com/embed(?:-podcast)?/(?P<id>\w+/\w+)", _AUDIO, "open.spotify.com/{}"),
    (r"embed\.(?P<id>(?:podcasts|music)\.apple\.com/[^?#]+)", _AUDIO, "{}"),
    (r"w\.soundcloud\.com/player", _AUDIO, ""),
    (r"bandcamp\.com/EmbeddedPlayer", _AUDIO, ""),
    (r"(?:player-widget\.)?mixcloud\.com/widget", _AUDIO, ""),
    (r"player\.twitch\.tv/|clips\.twitch\.tv/embed|tiktok\.com/(?:embed|player)", _VIDEO, ""),
    (r"facebook\.com/plugins/video|player\.bilibili\.com/|rutube\.ru/play/embed", _VIDEO, ""),
    (r"vk\.com/video_ext|fast\.wistia\.(?:net|com)/embed|players\.brightcove\.net/", _VIDEO, ""),
    (r"videopress\.com/embed|cdn\.jwplayer\.com/players|player\.youku\.com/embed", _VIDEO, ""),
    (r"asciinema\.org/a/|[\w.-]+/videos/embed/", _VIDEO, ""),
]
_PLAYERS = [
    (re.compile(rf"(?:https?:)?//(?:www\.|m\.)?(?:{host})", re.ASCII), kind, address)
    for host, kind, address in _HOSTS
]
_OF_TAGS = {"video": _VIDEO, "audio": _AUDIO}


def player_of(tag: str, attributes: Mapping[str, str]) -> tuple[int, str] | None:
    """Return the kind and the address of an `<iframe>`, `<video>` or `<audio>`; None for other frames."""
    sources = (attributes.get(name, "").strip() for name in ("data-src", "data-lazy-src", "src"))
    source = next((each for each in sources if each and not each.startswith(("about:", "data:"))), "")
    if not source:
        return None
    if tag in _OF_TAGS:
        return _OF_TAGS[tag], source
    for pattern, kind, address in _PLAYERS:
        if found := pattern.match(source):
            return kind, f"https://{address.format(found['id'])}" if address else source
    return None


def title_of(attributes: Mapping[str, str]) -> str:
    """Return the title of a player, with its white space folded; empty without one."""
    return " ".join((attributes.get("title") or attributes.get("aria-label") or "").split())
