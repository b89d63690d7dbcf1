"""Messages as the crawlers write them, for the tests of their formats."""

import io
import json
from base64 import b64encode
from datetime import UTC, datetime

import msgpack
from scrapy.http import HtmlResponse
from scrapy_cdr.utils import text_cdr_item
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

URL = "http://example.org/a"
HTML = "<!doctype html><title>Ж</title><p>Привет"
KOI8 = HTML.encode("koi8-r")
MAX_BYTES = 100_000
TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MILLISECONDS = TIME.replace(microsecond=678000)


def as_json(content):
    """The value of a message: a JSON text of the content, or the bytes themselves."""
    return content if isinstance(content, bytes) else json.dumps(content, default=dict).encode()


def ache(**more):
    """A page in the format JSON of ACHE's sink."""
    return {
        "url": URL,
        "redirected_url": None,
        "content": b64encode(KOI8).decode(),
        "content_type": "text/html; charset=koi8-r",
        "response_headers": {"Content-Type": ["text/html; charset=koi8-r"], "Content-Language": ["ru", "en"]},
        "fetch_time": 1767323045678,
        "relevance": {"relevance": 1.0, "isRelevant": True},
        "crawler_id": "crawl",
        **more,
    }


def old_ache():
    """A page of the time before `content`."""
    return {name: value for name, value in ache(response_body=HTML).items() if name != "content"}


ELASTIC = {
    "domain": "example.org",
    "url": URL,
    "title": "Ж",
    "text": "Привет",
    "retrieved": "2026-01-02T03:04:05.000+00:00",
    "words": ["Привет"],
    "wordsMeta": [],
    "topPrivateDomain": "example.org",
    "html": HTML,
    "responseHeaders": {"Content-Type": ["text/html; charset=koi8-r"], "Content-Language": ["ru"]},
    "isRelevant": "relevant",
    "relevance": 1.0,
    "crawlerId": "crawl",
}
"""A page in the format ELASTIC of ACHE's sink."""

CDR_HTML = '<!doctype html><meta charset="koi8-r"><title>Ж</title><p>Привет'


def scrapy_cdr(**more):
    """A document as scrapy-cdr builds it from Scrapy's response."""
    headers = {"Content-Type": "text/html; charset=koi8-r", "Content-Language": "ru"}
    response = HtmlResponse(URL, headers=headers, body=CDR_HTML.encode("koi8-r"))
    return {**text_cdr_item(response, crawler_name="spider", team_name="team"), **more}


def ache_cdr(**more):
    """A document of CDR 3.1 as ACHE builds it; it leaves out what is null."""
    return {
        "_id": "E4D1A5E5C0A0F0B5A2F4C0C9A0B1C2D3E4F5061728394A5B6C7D8E9F00112233",
        "content_type": "text/html; charset=koi8-r",
        "crawler": "ache",
        "objects": [],
        "raw_content": CDR_HTML,
        "response_headers": {"content-type": "text/html; charset=koi8-r", "content-language": "ru"},
        "timestamp_crawl": "2026-01-02T03:04:05Z",
        "timestamp_index": "2026-01-02T03:04:06Z",
        "url": URL,
        "version": 3.1,
        **more,
    }


NUTCH_HEAD = (
    f"Version: -1\nurl: {URL}\nbase: {URL}\n"
    "contentType: text/html\nmetadata: Content-Type=text/html; charset=x nutch.crawl.score=1.0\nContent:\n"
)
NUTCH_HTML = "<html>\nContent:\n<p>é</p>"


def nutch(**more):
    """A document of Nutch's indexer, whose fields are not arrays yet."""
    return {
        "id": URL,
        "title": "t",
        "content": "é",
        "tstamp": "Fri Jan 02 03:04:05 UTC 2026",
        "digest": "d41d8cd98f00b204e9800998ecf8427e",
        "boost": "1.0",
        "segment": "20260304050607",
        "binaryContent": NUTCH_HEAD + NUTCH_HTML,
        **more,
    }


def norconex(**more):
    return {
        "id": URL,
        "document.reference": URL,
        "document.contentType": "text/html",
        "collector.depth": ["0", "1"],
        "crawler.fetchDate": "2026-01-02T03:04:05Z",
        "content": "<html><p>é",
        **more,
    }


SIZE = "<p>Größe</p>"


def scrapy_cluster(**more):
    return {
        "url": "https://example.org/redirected",
        "response_url": URL,
        "status_code": 200,
        "status_msg": "OK",
        "response_headers": {"Content-Type": ["text/html; charset=ISO-8859-1"], "Server": ["x"]},
        "request_headers": {"User-Agent": ["y"]},
        "body": SIZE,
        "encoding": "cp1252",
        "links": [],
        "appid": "app",
        "crawlid": "c1",
        "timestamp": "2026-01-02T03:04:05.123456Z",
        "attrs": None,
        **more,
    }


FRONTERA_META = {
    b"domain": {b"name": b"example.org", b"fingerprint": b"06d80eb0c50b49a509b49f2424e8c805"},
    b"fingerprint": b"89e6a0649e06d83370cdf2cbfb05f363934a8d0c",
    b"encoding": "koi8-r",
    b"scrapy_meta": {"depth": 2, "download_latency": 0.1},
    b"origin_is_frontier": True,
}
FRONTERA_HEADERS = {
    b"Content-Type": [b"text/html"],
    b"Content-Language": [b"ru"],
    b"Set-Cookie": [b"a=b", b"c=d"],
}
FRONTERA_OLD_META = {key.decode(): value for key, value in FRONTERA_META.items()}


def packed(*parts, use_bin_type=True):
    """A message of Frontera's msgpack codec."""
    return msgpack.packb(list(parts), use_bin_type=use_bin_type)


def frontera_json(**response):
    """A message of Frontera's JSON codec, without types."""
    return {"type": "page_crawled", "r": response, "links": []}


def warc(
    body=KOI8,
    *headers,
    url=URL,
    kind="response",
    status="200 OK",
    protocol="HTTP/1.1",
    compress=False,
    content_type="",
    **fields,
):
    """A WARC record as warcio writes it."""
    http = None
    if kind == "response":
        declared = headers or [("Content-Type", "text/html; charset=koi8-r")]
        http = StatusAndHeaders(status, declared, protocol=protocol)
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=compress)
    record = writer.create_warc_record(
        url,
        kind,
        payload=io.BytesIO(body),
        length=len(body),
        http_headers=http,
        warc_headers_dict={"WARC-Date": "2026-01-02T03:04:05Z", **fields},
        warc_content_type=content_type,
    )
    writer.write_record(record)
    return out.getvalue()


ARCHIVE = "WEB-20260102030405678-00000-7~crawler~8443.warc.gz"
RECORD_ID = "urn:uuid:89791762-2336-4186-9674-299b90a802e2"


def page_record(body=KOI8, *headers, **more):
    """The WARC record of a page; in gzip, it is the archive that lines of the crawl log name."""
    declared = (("Content-Type", "text/html; charset=koi8-r"), ("Content-Language", "ru"), *headers)
    return warc(body, *declared, **{"WARC-Record-ID": f"<{RECORD_ID}>", **more})


def chunked(body, size=100, trailer=b""):
    """A body as HTTP/1.1 transfers it in chunks."""
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    data = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"%s0\r\n%s\r\n" % (data, trailer)


def crawl_log(**more):
    """A line of the crawl log, as Heritrix's CrawlLogJsonBuilder builds it."""
    return {
        "timestamp": "2026-01-02T03:04:05.678Z",
        "content_length": 40,
        "size": 300,
        "status_code": 200,
        "url": URL,
        "hop_path": "L",
        "via": "http://example.org/",
        "mimetype": "text/html",
        "thread": 7,
        "start_time_plus_duration": "20260102030405123+555",
        "content_digest": "sha1:Q4JC6POHK2CXJLM2SEXSFZRG4XBGAQB7",
        "seed": None,
        "host": "example.org",
        "annotations": "",
        "warc_filename": ARCHIVE,
        "warc_offset": 0,
        "extra_info": {},
        **more,
    }
