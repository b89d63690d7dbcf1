"""Words before a date that say which one it is: of publication, of the last change, or of something else."""

import re
from enum import StrEnum
from functools import lru_cache


class DateLabel(StrEnum):
    """Meaning of a date by the words before it."""

    NONE = ""
    """None told."""
    PUBLISHED = "published"
    MODIFIED = "modified"
    OTHER = "other"
    """A date that is not the page's: of an event, a membership, a copyright."""


_STEMS = {
    DateLabel.MODIFIED: """
        updat edited edit: modif revis amended aktualis aktualiz geänder bearbeit überarbeit actuali
        atuali alterad aggiorn modificat bijgewerk gewijzig uppdater oppdater opdater ændret endret
        ändrad päivit muokat обнов измен редакт оновл редаг zaktual změn uprav güncel dikemask diperbar
        frissí módosí ενημερ τροποπ izmijen ažurir تحديث تعديل עודכן
        """,
    DateLabel.PUBLISHED: """
        publi posted created written submit dated erstell veröffentl gepost geplaats public postad publis
        julkais опубл публи созда додан zveřej vydán yayın objavl közzé megjel diterbit dipost δημοσ
        เผยแพร่ نشر انتشار פורסם
        """,
    DateLabel.OTHER: """
        copyright joined join member regist since expir valid until deadline access retriev abgeruf
        consult born died starts ends start: end: due effective event session meeting filed seit
        depuis desde hasta mitglied membre miembro регистр kayıt
        """,
}
"""Beginnings of words, in lower case."""
_NEUTRAL = {
    DateLabel.PUBLISHED: """
        date datum fecha data дата tarih dátum ημερομηνία tanggal تاریخ التاريخ תאריך ngày
        """,
}
"""Words that count where no other does: they stand with those of each kind."""
_UNSPACED = {
    DateLabel.MODIFIED: "更新 修改 编辑 編輯 編集 改定 수정 업데이트",
    DateLabel.PUBLISHED: """
        发布 發布 发表 發表 发帖 發佈 日期 日時 时间 時間 公開 投稿 掲載 登録日 配信
        작성 등록 입력 게시 승인 날짜
        """,
    DateLabel.OTHER: "注册 注冊 가입 ©",
}
"""Words of languages that put none or few spaces between words, and signs."""

_LABEL_OF = {stem: label for label, stems in _STEMS.items() for stem in stems.split()}
_NEUTRAL_OF = {word: label for label, words in _NEUTRAL.items() for word in words.split()}
_LENGTHS = sorted({len(stem) for stem in _LABEL_OF})
_WORD = re.compile(r"\b[^\W\d_]+\b:?")
_TELLING = {
    label: re.compile(
        rf"\b(?:{'|'.join((*_STEMS[label].split(), *_NEUTRAL.get(label, '').split()))})"
        rf"|{'|'.join(_UNSPACED[label].split())}"
    )
    for label in (DateLabel.PUBLISHED, DateLabel.MODIFIED)
}
_LAST = 48
"""Characters before a date in which it is labeled."""


@lru_cache(1024)
def label_in(text: str) -> DateLabel:
    """Return the label at the end of a text that stands before a date: the last one, if there are several."""
    text = text[-_LAST:].lower()
    found, neutral = DateLabel.NONE, DateLabel.NONE
    for word in _WORD.findall(text):
        for length in _LENGTHS:
            found = _LABEL_OF.get(word[:length], found) if len(word) >= length else found
        neutral = _NEUTRAL_OF.get(word.rstrip(":"), neutral)
    if not text.isascii():
        places = {text.rfind(word): label for label, words in _UNSPACED.items() for word in words.split()}
        if (last := max(places)) >= 0:
            found = places[last]
    return found or neutral


def may_tell(label: DateLabel, text: str) -> bool:
    """Return True if a text has a word that gives a date after it a label, `PUBLISHED` or `MODIFIED`."""
    return _TELLING[label].search(text.lower()) is not None
