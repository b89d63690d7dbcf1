"""Pages that a worker counts together."""

from dataclasses import replace

import orjson


async def test_pages_of_two_hosts_are_of_one_site_by_their_domain(bench, site, fresh) -> None:
    hosts = [f"https://{host}.{fresh}.example/".encode() for host in ("a", "b")]
    home = f"https://{fresh}.example/".encode()
    records = [
        replace(record, key=record.key.replace(home, hosts[number % 2]))
        for number, record in enumerate(site(4))
    ]
    bench.worker("--source", "html", "--site-key", "domain")
    await bench.produce(records)
    await bench.until_done()
    documents = [orjson.loads(message.value) for message in await bench.documents()]
    assert {document["site"] for document in documents} == {f".{fresh}.example"}
    assert sorted(document["template"]["pages_seen"] for document in documents) == [1, 2, 3, 4]
