"""Files of texts as Common Crawl's WET: WARC records of type `conversion`, each a member of gzip.

A page without a document is a record of type `metadata`, which readers of texts pass over; so is the note at
the end of a file.
"""

import io
import re
import zlib
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from warcio.statusandheaders import StatusAndHeadersParser  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from dehusk.streams.dataset.parts import SUFFIXES, Columns, FileFormat, Row
from dehusk.streams.settings import MIB

_NOTE_TYPE = "application/vnd.dehusk.note+json"
_MEMBER = b"\x1f\x8b\x08"
_MOST_NOTE = MIB
"""Bytes at the end of a file that its note is looked for in."""
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")
"""Characters of a URL that would end its header, or that no URL has."""
_CODES: dict[str, str] = dict(
    re.findall(
        r"(\w+)=(\w+)",
        "aa=aar ab=abk ae=ave af=afr ak=aka am=amh an=arg ar=ara as=asm av=ava ay=aym az=aze ba=bak be=bel "
        "bg=bul bh=bih bi=bis bm=bam bn=ben bo=bod br=bre bs=bos ca=cat ce=che ch=cha co=cos cr=cre cs=ces "
        "cu=chu cv=chv cy=cym da=dan de=deu dv=div dz=dzo ee=ewe el=ell en=eng eo=epo es=spa et=est eu=eus "
        "fa=fas ff=ful fi=fin fj=fij fo=fao fr=fra fy=fry ga=gle gd=gla gl=glg gn=grn gu=guj gv=glv ha=hau "
        "he=heb hi=hin ho=hmo hr=hrv ht=hat hu=hun hy=hye hz=her ia=ina id=ind ie=ile ig=ibo ii=iii ik=ipk "
        "io=ido is=isl it=ita iu=iku ja=jpn jv=jav ka=kat kg=kon ki=kik kj=kua kk=kaz kl=kal km=khm kn=kan "
        "ko=kor kr=kau ks=kas ku=kur kv=kom kw=cor ky=kir la=lat lb=ltz lg=lug li=lim ln=lin lo=lao lt=lit "
        "lu=lub lv=lav mg=mlg mh=mah mi=mri mk=mkd ml=mal mn=mon mr=mar ms=msa mt=mlt my=mya na=nau nb=nob "
        "nd=nde ne=nep ng=ndo nl=nld nn=nno no=nor nr=nbl nv=nav ny=nya oc=oci oj=oji om=orm or=ori os=oss "
        "pa=pan pi=pli pl=pol ps=pus pt=por qu=que rm=roh rn=run ro=ron ru=rus rw=kin sa=san sc=srd sd=snd "
        "se=sme sg=sag sh=hbs si=sin sk=slk sl=slv sm=smo sn=sna so=som sq=sqi sr=srp ss=ssw st=sot su=sun "
        "sv=swe sw=swa ta=tam te=tel tg=tgk th=tha ti=tir tk=tuk tl=tgl tn=tsn to=ton tr=tur ts=tso tt=tat "
        "tw=twi ty=tah ug=uig uk=ukr ur=urd uz=uzb ve=ven vi=vie vo=vol wa=wln wo=wol xh=xho yi=yid yo=yor "
        "za=zha zh=zho zu=zul",
    )
)
"""Three letters (ISO 639-3) of each language that has two (ISO 639-1), and of two that have had them."""


class WetPart:
    """A file of texts."""

    def __init__(self, file: BinaryIO, _columns: Columns, _max_bytes: int) -> None:
        self._writer = WARCWriter(file, gzip=True)
        about = {"software": f"dehusk/{version('dehusk')}", "format": "WARC File Format 1.0"}
        self._writer.write_record(self._writer.create_warcinfo_record(None, about))

    def write(self, row: Row) -> None:
        """Add the text of a document, or the error of a page without one."""
        headers = {"WARC-Date": _warc_date(datetime.now(UTC))}
        if row.id and row.id.startswith("urn:"):
            headers["WARC-Refers-To"] = f"<{_escaped(row.id)}>"
        document = row.document
        if document is None:
            self._write("metadata", row.url, "application/warc-fields", _fields(row), headers)
            return
        if document.fetched_at is not None:
            with suppress(OverflowError):  # of the first or last day that there is, in another time zone
                headers["WARC-Date"] = _warc_date(document.fetched_at)
        if document.language:
            headers["WARC-Identified-Content-Language"] = three_letters(document.language)
        self._write("conversion", row.url, "text/plain", document.text.encode(), headers)

    def end(self, note: bytes) -> None:
        """Write the note as the last record."""
        headers = {"WARC-Date": _warc_date(datetime.now(UTC))}
        self._write("metadata", None, _NOTE_TYPE, note, headers)

    def abandon(self) -> None:
        """Do nothing: each record is whole once it is written."""

    def _write(
        self, kind: str, url: str | None, media_type: str, block: bytes, headers: dict[str, str]
    ) -> None:
        record = self._writer.create_warc_record(
            _escaped(url or ""),
            kind,
            payload=io.BytesIO(block),
            length=len(block),
            warc_content_type=media_type,
            warc_headers_dict=headers,
        )
        self._writer.write_record(record)


def _fields(row: Row) -> bytes:
    """Return the error in the form of `application/warc-fields`: on one line."""
    return f"error: {' '.join((row.error or '').split())}\r\n".encode()


def three_letters(language: str) -> str:
    """Return the code of a primary language in three letters, which most have beside that in two."""
    return _CODES.get(language, language)


def _escaped(url: str) -> str:
    return _UNSAFE.sub(lambda character: f"%{ord(character[0]):02X}", url)


def _warc_date(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def read_note(path: Path) -> bytes:
    """Return the note that is the last record of a file.

    Raises:
        ValueError: it has no such record.
    """
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - _MOST_NOTE))
        tail = file.read()
    begin = len(tail)
    while (begin := tail.rfind(_MEMBER, 0, begin)) >= 0:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            record = io.BytesIO(member.decompress(tail[begin:]))
        except zlib.error:
            continue  # these bytes begin no member
        if not member.eof:
            continue
        headers = StatusAndHeadersParser([], verify=False).parse(record)
        if headers.get_header("Content-Type") != _NOTE_TYPE:
            break
        return record.read(int(headers.get_header("Content-Length")))
    raise ValueError("its last record is no note")


WET = FileFormat(SUFFIXES["wet"], WetPart, read_note)
