"""Archives of web pages, for tests."""

import io

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter


def warc(pages: list[tuple[str, str, bytes]]) -> bytes:
    """Return a WARC file of pages with URL, content type and body, between records that are no pages."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    writer.write_record(writer.create_warcinfo_record("a.warc.gz", {"software": "test"}))
    for number, (url, content_type, body) in enumerate(pages):
        headers = StatusAndHeaders(
            "200 OK", [("Content-Type", content_type), ("Content-Language", "de")], "HTTP/1.1"
        )
        date = {"WARC-Date": f"2026-01-0{number % 9 + 1}T10:11:12.123456Z"}
        record = writer.create_warc_record(
            url, "response", io.BytesIO(body), len(body), warc_headers_dict=date, http_headers=headers
        )
        writer.write_record(record)
        writer.write_record(writer.create_warc_record(url, "metadata", io.BytesIO(b"a: b"), 4))
    return out.getvalue()
