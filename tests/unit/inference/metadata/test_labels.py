import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.metadata.labels import DateLabel, label_in, may_tell


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *(
            (text, DateLabel.PUBLISHED)
            for text in ("Posted on ", "Published:", "Start date ", "Дата: ", "发布时间：")
        ),
        *(
            (text, DateLabel.PUBLISHED)
            for text in ("Veröffentlicht am ", "Publié le ", "公開日", "등록 ", "Updated daily, posted ")
        ),
        *(
            (text, DateLabel.MODIFIED)
            for text in ("Last edited: ", "Updated ", "Zuletzt aktualisiert am ", "更新日：")
        ),
        *(
            (text, DateLabel.MODIFIED)
            for text in ("Posted by Ann, updated on ", "Обновлено: ", "Modified date: ")
        ),
        *(
            (text, DateLabel.OTHER)
            for text in ("Joined ", "Copyright ", "© ", "Valid until ", "注册时间之前 注册")
        ),
        *(
            (text, DateLabel.NONE)
            for text in ("", "By Ann Lee, ", "On ", "12 ", "Updates everywhere" + "x " * 60)
        ),
    ],
)
def test_the_last_label_before_a_date_counts(text: str, label: DateLabel) -> None:
    assert label_in(text) is label
    assert label not in (DateLabel.PUBLISHED, DateLabel.MODIFIED) or may_tell(label, text)


@pytest.mark.parametrize("text", ["", "Updated on ", "Joined ", "unposted", "By Ann Lee, "])
def test_a_text_without_a_word_of_publication_tells_none(text: str) -> None:
    assert not may_tell(DateLabel.PUBLISHED, text)


@given(st.text())
def test_any_text_has_a_label_or_none(text: str) -> None:
    assert label_in(text) in DateLabel
