import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.metadata.authors import author_name, authors_in, is_call


@pytest.mark.parametrize(
    ("byline", "names"),
    [
        ("By Ann Lee", ["Ann Lee"]),
        ("by Ann Lee, Bo van der Berg and Cy Doe", ["Ann Lee", "Bo van der Berg", "Cy Doe"]),
        ("Written by Ann Lee | May 1, 2024", ["Ann Lee"]),
        ("BY ANN LEE", ["ANN LEE"]),
        ("By Ann Lee May 1, 2024 in News", ["Ann Lee"]),
        ("May Lee", ["May Lee"]),
        ("Von Änne Groß", ["Änne Groß"]),
        ("Ann Lee Updated 3 hours ago", ["Ann Lee"]),
        ("Ann", ["Ann"]),
        ("About The Author", []),
        ("Sign In", []),
        ("12 posts by readers of this page", []),
        ("By Ann Lee " + "is a writer " * 10, []),
        ("By Ann Lee Last updated: May 1, 2024", ["Ann Lee"]),
        ("Ann Lee Tuesday, May 1, 2024", ["Ann Lee"]),
        ("Ann Lee - Marketing Manager", ["Ann Lee"]),
        ("Author: Ann Lee", ["Ann Lee"]),
        ("May 1, 2024 | Ann Lee", ["Ann Lee"]),
        ("12th of May 2024 by Ann Lee", ["Ann Lee"]),
        ("By Ann Lee Updated May 1, 2024 " + "Ann Lee is a writer. " * 10, ["Ann Lee"]),
        ("Posted May 1, 2024 by Ann Lee", ["Ann Lee"]),
        ("Ann Lee @annlee", ["Ann Lee"]),
        ("Ann Lee at 8:00 pm", ["Ann Lee"]),
        ("Ann Lee ,", ["Ann Lee"]),
        ("By Ann", ["Ann"]),
        ("Posted by redfox123 on Friday May 3, 2024", ["redfox123"]),
        ("Von fraslo", ["fraslo"]),
        ("Post by redfox » May 1, 2024 9:00 pm", ["redfox"]),
        ("ann_lee", ["ann_lee"]),
        ("狐狸", ["狐狸"]),
        *((text, []) for text in ("by admin", "By Staff", "Share", "2024", "Foxes 10 of them", "by: 2024")),
        ("", []),
    ],
)
def test_names_are_read_from_a_byline(byline: str, names: list[str]) -> None:
    assert authors_in([byline]) == names


def test_the_first_byline_with_a_name_counts() -> None:
    assert authors_in(["", "Share", "By Ann Lee", "By Bo Doe"]) == ["Ann Lee"]


def test_a_word_alone_is_a_name_if_all_bylines_are_it() -> None:
    assert authors_in(["redfox", "", "redfox"]) == ["redfox"]
    assert authors_in(["redfox", "Food"]) == []


@pytest.mark.parametrize(
    "text",
    [
        *(
            "View more posts",
            "View all posts",
            "Read more …",
            "Read full bio",
            "Follow",
            "Follow us",
            "Follow @ann",
        ),
        *(
            "See all articles",
            "More from this author",
            "About the author",
            "Share this article",
            "Subscribe",
            "More »",
        ),
        *(
            "Alle Beiträge anzeigen",
            "Mehr lesen",
            "Weiterlesen",
            "Zum Profil",
            "Voir tous les articles",
            "Lire la suite",
        ),
        *(
            "Ver más artículos",
            "Seguir leyendo",
            "Leia mais",
            "Ver perfil",
            "Leggi tutti gli articoli",
            "Altri articoli",
        ),
        *(
            "Lees meer",
            "Läs mer",
            "Zobacz wszystkie wpisy",
            "Devamını oku",
            "Tüm yazıları gör",
            "Читать далее",
        ),
        *("Все статьи автора", "اقرأ المزيد", "查看更多", "もっと見る", "記事一覧", "더 보기"),
    ],
)
def test_a_call_to_do_something_is_no_author(text: str) -> None:
    assert is_call(text)
    assert author_name(text) is None


@pytest.mark.parametrize(
    "text", ["undefined", "null", "None", "N/A", "by undefined", "[object Object]", "Admin"]
)
def test_what_a_template_prints_for_nobody_is_no_author(text: str) -> None:
    assert author_name(text) is None


@pytest.mark.parametrize(
    "name",
    [
        "Read Montague",
        "Ann Lee",
        "The Editors",
        "Mehr Licht Redaktion",
        "Alle Farben",
        "Del Potro",
        "Von Miller",
        "von Neumann",
        "Par Lagerkvist",
        "PAR Technology",
        "山田太郎",
        "김철수",
    ],
)
def test_a_name_is_no_call(name: str) -> None:
    assert author_name(name) == name


@pytest.mark.parametrize(
    "text",
    [
        *("View all posts by Ann Lee", "All articles by Ann Lee", "Posts by Ann Lee", "More by Ann Lee"),
        *("Von Ann Lee", "par Ann Lee", "Von: Ann Lee"),
    ],
)
def test_the_author_of_all_posts_is_read(text: str) -> None:
    assert author_name(text) == "Ann Lee"


@given(
    st.text(max_size=900)
    | st.lists(st.sampled_from(["view", "posts by", "more", "Ann", "查看", "<b>"])).map(" ".join)
)
def test_any_text_is_an_author_or_none(text: str) -> None:
    author = author_name(text)
    assert author is None or 0 < len(author) <= 200
    authors_in([text])
