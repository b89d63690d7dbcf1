import pytest

from dehusk.inference.markup.players import player_of, title_of
from dehusk.schemas.markup import Embedded


@pytest.mark.parametrize(
    ("source", "kind", "address"),
    [
        (
            "https://www.youtube.com/embed/a-B_1?start=2",
            Embedded.VIDEO,
            "https://www.youtube.com/watch?v=a-B_1",
        ),
        ("//www.youtube-nocookie.com/embed/a", Embedded.VIDEO, "https://www.youtube.com/watch?v=a"),
        (
            "https://www.youtube.com/embed/videoseries?si=x&list=PL1",
            Embedded.VIDEO,
            "https://www.youtube.com/playlist?list=PL1",
        ),
        ("https://player.vimeo.com/video/12?h=x", Embedded.VIDEO, "https://vimeo.com/12"),
        (
            "https://geo.dailymotion.com/embed/video/x1",
            Embedded.VIDEO,
            "https://www.dailymotion.com/video/x1",
        ),
        ("https://embed.ted.com/talks/lang/de/a_b", Embedded.VIDEO, "https://www.ted.com/talks/a_b"),
        (
            "https://open.spotify.com/embed/episode/a1?utm=x",
            Embedded.AUDIO,
            "https://open.spotify.com/episode/a1",
        ),
        (
            "https://embed.podcasts.apple.com/us/podcast/a/id1?i=2",
            Embedded.AUDIO,
            "https://podcasts.apple.com/us/podcast/a/id1",
        ),
        ("https://w.soundcloud.com/player/?url=x", Embedded.AUDIO, "https://w.soundcloud.com/player/?url=x"),
        ("https://video.test/videos/embed/a", Embedded.VIDEO, "https://video.test/videos/embed/a"),
    ],
)
def test_a_frame_of_a_known_player_leads_to_what_it_plays(source: str, kind: Embedded, address: str) -> None:
    assert player_of("iframe", {"src": source}) == (kind, address)


@pytest.mark.parametrize(
    "source",
    [
        "https://ads.test/embed/a",
        "https://evil.test/www.youtube.com/embed/a",
        "https://www.youtube.com.evil.test/embed/a",
        "https://www.google.com/maps/embed?x",
        "javascript:x",
        "",
    ],
)
def test_other_frames_are_none(source: str) -> None:
    assert player_of("iframe", {"src": source}) is None


def test_the_address_that_a_script_loads_goes_first() -> None:
    assert player_of("video", {"src": "about:blank", "data-src": "a.mp4"}) == (Embedded.VIDEO, "a.mp4")
    assert player_of("audio", {"src": "a.mp3", "data-src": " "}) == (Embedded.AUDIO, "a.mp3")
    assert player_of("video", {"src": "data:video/mp4,x"}) is None


def test_a_title_is_folded() -> None:
    assert title_of({"title": " a\n b "}) == "a b"
    assert title_of({"aria-label": "c"}) == "c"
    assert title_of({}) == ""
