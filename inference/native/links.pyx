# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Places that a page's links lead to, and its own: groups `links` and `address` of `inference/encoding/features.py`.

The entries of a listing lie below it, other stories beside the one that is read, and a card that leads to a story
is named like it.
"""

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

import numpy as np

from dehusk.inference.native cimport feature
from dehusk.inference.native.buffer cimport Buffer, append, free, more
from dehusk.inference.native.scale cimport flag, logarithm, share
from dehusk.inference.native.table cimport ABSENT, Table, at, make
from dehusk.inference.native.tokens cimport Text, add_hashes, text_of
from dehusk.inference.native.urls cimport Url, hash_of, read_url

from dehusk.inference.encoding import features

cdef enum:
    MAX_NAME_WORDS = 16  # that are looked for
    MAX_TEXT_WORDS = 64  # of a block or a title in which they are

cdef frozenset EXTENSIONS = frozenset((b"html", b"htm", b"php", b"asp", b"aspx", b"jsp", b"shtml", b"cfm"))
cdef int LINK_COLUMNS = len(features.LINK_FEATURES), ADDRESS_COLUMNS = len(features.ADDRESS_FEATURES)


cdef struct Link:
    Url url
    bint is_own  # of the page's own site
    uint64_t host  # keys of its host, of the folder that its page is in, and of the page
    uint64_t folder
    uint64_t page


cdef struct Name:  # the last one of a path, without its extension
    size_t start
    size_t size
    bint has_extension
    bint has_digits
    bint is_ascii


cdef class Links:
    """The links of a page's blocks, in their order."""

    cdef Buffer _bytes, _links, _words
    cdef Table _hosts, _addresses, _pages, _folders  # how often each is met, folders with different pages
    cdef Url _page, _base
    cdef size_t _title_words
    cdef double _outside, _below, _beside  # numbers of links

    def __dealloc__(self):
        free(&self._bytes)
        free(&self._links)
        free(&self._words)
        free(&self._hosts.memory)
        free(&self._addresses.memory)
        free(&self._pages.memory)
        free(&self._folders.memory)

    cdef int read(self, tuple links, str url, str base, str title) except -1:
        """Read the addresses of the blocks' links and of the page."""
        cdef Link *link
        cdef Py_ssize_t size
        cdef const char *address
        cdef Text text = text_of(title)
        add_hashes(&self._words, &text, False)
        self._title_words = min(self._words.used // sizeof(uint32_t), <size_t> MAX_TEXT_WORDS)
        append(&self._bytes, b"        ", 8)  # short words are read with bytes before them
        _read(&self._bytes, url, &self._base, &self._page)  # which is relative to nothing
        _read(&self._bytes, base, &self._page, &self._base)
        for each in links:
            if each is not None:
                address = PyUnicode_AsUTF8AndSize(each, &size)
                link = <Link *> more(&self._links, sizeof(Link))
                read_url(&self._bytes, <const unsigned char *> address, size, &self._base, &link.url)
        return self._find_own()

    cdef inline size_t _count(self) noexcept:
        return self._links.used // sizeof(Link)

    cdef inline Link *_at(self, size_t index) noexcept:
        return <Link *> self._links.data + index

    cdef int _find_own(self) except -1:
        """Find the links of the page's own site, and count those to each page and folder."""
        cdef size_t index, web = 0, most = 0
        cdef Link *link
        make(&self._hosts, self._count())
        make(&self._addresses, self._count())
        make(&self._pages, self._count())
        make(&self._folders, self._count())
        for index in range(self._count()):
            link = self._at(index)
            if _leads_to_page(&link.url):
                web += 1
                link.host = hash_of(self._bytes.data + link.url.host, link.url.host_size, 0)
                most = max(most, _add_one(&self._hosts, link.host))
        for index in range(self._count()):
            link = self._at(index)
            if not _leads_to_page(&link.url):
                continue
            link.is_own = self._is_own_host(&link.url) or (
                2 * most > web and <size_t> at(&self._hosts, link.host)[0] == most
            )
            self._key(link)
            _add_one(&self._addresses, link.page ^ link.url.query)
            if _add_one(&self._pages, link.page) == 1:
                _add_one(&self._folders, link.folder)
        return 0

    cdef void _key(self, Link *link) noexcept:
        """Set the keys of the folder and the page of a link."""
        cdef const char *path = self._bytes.data + link.url.path
        cdef size_t size = _start_of_name(path, link.url.path_size)
        link.folder = hash_of(path, size, 0 if link.is_own else link.host)
        link.page = hash_of(path + size, link.url.path_size - size, link.folder)

    cdef bint _is_own_host(self, Url *url) noexcept:
        """Return True for the page's host, one in its domain, or one that its own is in."""
        cdef Url *longer = url
        cdef Url *shorter = &self._page
        cdef size_t rest
        if url.host_size < self._page.host_size:
            longer, shorter = shorter, longer
        if not shorter.host_size:
            return not longer.host_size
        rest = longer.host_size - shorter.host_size
        if memcmp(self._bytes.data + longer.host + rest, self._bytes.data + shorter.host, shorter.host_size):
            return False
        return not rest or self._bytes.data[longer.host + rest - 1] == c"."

    cdef int describe(
        self, tuple links, const uint32_t[::1] words, const uint32_t[::1] counts, uint8_t[:, ::1] columns
    ) except -1:
        """Write the columns of each block."""
        cdef size_t index = 0, word = 0
        cdef Py_ssize_t block
        cdef Url *url
        for block in range(len(links)):
            if links[block] is not None:
                columns[block, feature.LINK] = 255
                url = &self._at(index).url
                columns[block, feature.LINK_IN_PAGE] = flag(url.is_fragment)
                columns[block, feature.LINK_TO_NO_PAGE] = flag(not url.is_web)
                if _leads_to_page(url):
                    self._describe_place(self._at(index), &columns[block, 0])
                    self._describe_name(
                        url, &words[word] if counts[block] else NULL, counts[block], &columns[block, 0]
                    )
                index += 1
            word += counts[block]
        return 0

    cdef void _describe_place(self, Link *link, uint8_t *row) noexcept:
        """Write where a link to a page leads to from this one."""
        cdef Url *url = &link.url
        cdef int depth = self._page.depth, shared
        cdef bint is_below, is_beside
        row[feature.LINK_LEAVES_SITE] = flag(not link.is_own)
        self._outside += not link.is_own
        row[feature.LINK_HAS_QUERY] = flag(url.has_query)
        row[feature.LINK_LOG_DEPTH] = logarithm(url.depth)
        row[feature.LINK_LOG_REPEATS] = logarithm(at(&self._addresses, link.page ^ url.query)[0] - 1)
        row[feature.LINK_LOG_SIBLINGS] = logarithm(at(&self._folders, link.folder)[0])
        if not link.is_own or not self._page.host_size:
            return
        shared = self._shared(url)
        row[feature.LINK_TO_PAGE] = flag(shared == depth == url.depth)
        row[feature.LINK_ABOVE] = flag(shared == url.depth < depth)
        is_below, is_beside = shared == depth < url.depth, shared == depth - 1 == url.depth - 1
        row[feature.LINK_BELOW], row[feature.LINK_BESIDE] = flag(is_below), flag(is_beside)
        row[feature.LINK_PATH_SHARED_SHARE] = share(<double> shared / depth) if depth else 0
        self._below += is_below
        self._beside += is_beside

    cdef int _shared(self, Url *url) noexcept:
        """Return the number of levels that a path has in common with the page's."""
        cdef const char *own = self._bytes.data + self._page.path
        cdef const char *other = self._bytes.data + url.path
        cdef size_t position = 0, least = min(self._page.path_size, url.path_size)
        cdef int shared = 0
        while position < least and own[position] == other[position]:
            position += 1
            if (position == self._page.path_size or own[position] == c"/") and (
                position == url.path_size or other[position] == c"/"
            ):
                shared += 1
        return shared

    cdef int _describe_name(self, Url *url, const uint32_t *words, uint32_t count, uint8_t *row) except -1:
        """Write what the name of a link's page has in common with the block's text and the page's title."""
        cdef Name name = self._name_of(url)
        cdef size_t names
        row[feature.LINK_NAME_HAS_DIGITS] = flag(name.has_digits)
        names = self._read_words(&name)
        row[feature.LINK_LOG_NAME_WORDS] = logarithm(names)
        row[feature.LINK_NAME_IN_TEXT_SHARE] = self._share_in(names, words, count)
        row[feature.LINK_NAME_IN_TITLE_SHARE] = self._share_in(
            names, <const uint32_t *> self._words.data, self._title_words
        )
        return 0

    cdef Name _name_of(self, Url *url) except *:
        cdef const char *path = self._bytes.data + url.path
        cdef size_t end = url.path_size, start = _start_of_name(path, url.path_size), position
        cdef Name name
        name.has_digits, name.is_ascii = False, True
        for position in range(start, end):
            name.has_digits |= c"0" <= path[position] <= c"9"
            name.is_ascii &= <uint8_t> path[position] < 0x80
        for position in range(start, end):
            if path[position] == c"." and end - position <= 6 and path[position + 1 : end] in EXTENSIONS:
                end = position
                break
        name.start, name.size, name.has_extension = url.path + start, end - start, end < url.path_size
        return name

    cdef size_t _read_words(self, Name *name) except? 0:
        """Read the words of a name behind those of the title, and return their number."""
        cdef size_t title = self._words.used, names
        cdef Text text = Text(1, self._bytes.data + name.start, name.size, True)
        cdef str decoded
        if not name.is_ascii:
            decoded = self._bytes.data[name.start : name.start + name.size].decode("utf-8", "replace")
            text = text_of(decoded)
        add_hashes(&self._words, &text, False)
        names = (self._words.used - title) // sizeof(uint32_t)
        self._words.used = title  # they are read before others are written
        return names

    cdef uint8_t _share_in(self, size_t names, const uint32_t *words, size_t count) noexcept:
        """Return the share of the words of the name last read that some words hold."""
        cdef const uint32_t *name = <const uint32_t *> (self._words.data + self._words.used)
        cdef size_t position, word, found = 0
        names, count = min(names, <size_t> MAX_NAME_WORDS), min(count, <size_t> MAX_TEXT_WORDS)
        for position in range(names):
            for word in range(count):
                if words[word] == name[position]:
                    found += 1
                    break
        return share(<double> found / names) if names else 0

    cdef int describe_page(self, uint8_t[::1] columns) except -1:
        """Write the columns of the page itself, after those of its blocks."""
        cdef Name name = self._name_of(&self._page)
        cdef size_t names, all_links = max(self._count(), <size_t> 1)
        columns[feature.LINKS_LEAVE_SITE_SHARE] = share(self._outside / all_links)
        columns[feature.LINKS_BELOW_SHARE] = share(self._below / all_links)
        columns[feature.LINKS_BESIDE_SHARE] = share(self._beside / all_links)
        if not self._page.host_size:
            return 0
        names = self._read_words(&name)
        columns[feature.ADDRESS] = 255
        columns[feature.ADDRESS_LOG_DEPTH] = logarithm(self._page.depth)
        columns[feature.ADDRESS_IS_ROOT] = flag(not self._page.depth and not self._page.has_query)
        columns[feature.ADDRESS_LOG_NAME_WORDS] = logarithm(names)
        columns[feature.ADDRESS_NAME_IN_TITLE_SHARE] = self._share_in(
            names, <const uint32_t *> self._words.data, self._title_words
        )
        columns[feature.ADDRESS_NAME_HAS_DIGITS] = flag(name.has_digits)
        columns[feature.ADDRESS_HAS_QUERY] = flag(self._page.has_query)
        columns[feature.ADDRESS_HAS_EXTENSION] = flag(name.has_extension)
        return 0


def describe_links(
    tuple links not None,
    str url not None,
    str base not None,
    str title not None,
    const uint32_t[::1] words,
    const uint32_t[::1] counts,
) -> tuple:
    """Return the columns of each block by its link and its words, and of the page by its URL and its title."""
    cdef Links read = Links()
    of_blocks = np.zeros((len(links), LINK_COLUMNS), np.uint8)
    of_page = np.zeros(ADDRESS_COLUMNS, np.uint8)
    read.read(links, url, base, title)
    read.describe(links, words, counts, of_blocks)
    read.describe_page(of_page)
    return of_blocks, of_page


cdef int _read(Buffer *into, str address, Url *base, Url *url) except -1:
    cdef bytes encoded = address.encode("utf-8", "replace")
    return read_url(into, encoded, len(encoded), base, url)


cdef inline size_t _start_of_name(const char *path, size_t size) noexcept nogil:
    """Return where the last name of a path begins."""
    while size and path[size - 1] != c"/":
        size -= 1
    return size


cdef inline bint _leads_to_page(Url *url) noexcept nogil:
    return url.is_web and not url.is_fragment


cdef inline size_t _add_one(Table *table, uint64_t key) noexcept:
    """Count a key, and return how often it was counted."""
    cdef int32_t *count = at(table, key)
    count[0] = 1 if count[0] == ABSENT else count[0] + 1
    return count[0]
