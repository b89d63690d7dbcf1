# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Footnotes: elements to which short links before them lead, and which have links back to these.

So do the footnotes of Pandoc, Goldmark, kramdown, MediaWiki and WordPress, whatever their classes.
"""

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.lexbor cimport Element, String, decoded
from dehusk.inference.native.markup cimport NAME, spells, tag_name, value_of
from dehusk.inference.native.recording cimport Recording
from dehusk.inference.native.rows cimport NONE, Rows

from dehusk.inference.markup import footnotes
from dehusk.schemas.markup import Mark

cdef enum:
    MAX_ID = 200  # bytes
    MAX_AROUND_LINK = 3  # elements of which one may have the id that a footnote links to
    MAX_IN_NOTE = 12  # elements from a link up to the footnote that it stands in

cdef int REFERENCE = Mark.REFERENCE, RETURN = Mark.RETURN


cdef dict find_notes(Recording recording, Rows rows, list texts):
    """Return the index of the id of each row that is a footnote, and let the links be references and returns."""
    cdef int *marks = <int *> recording._marks.data
    cdef int mark, row
    links = _links(recording, texts)
    wanted = {fragment for _, fragment, is_short in links if is_short}
    if not wanted:
        return {}
    targets = _targets(rows, wanted)
    rows_of_notes = {row: name for name, row in targets.items()}
    referring = {}  # the footnotes that are linked to, by the ids around the links
    for mark, fragment, is_short in links:
        row = (<int *> recording._linked.data)[mark]
        if is_short and targets.get(fragment, NONE) > row:
            for name in _ids_around(rows, row):
                referring.setdefault(name, set()).add(fragment)
    notes = {}
    for mark, fragment, _ in links:
        for row in _rows_around(rows, (<int *> recording._linked.data)[mark]) if fragment in referring else ():
            name = rows_of_notes.get(row)
            if name in referring[fragment]:
                notes[row] = recording._string_of(name)
                marks[5 * mark + 3] = RETURN
    for mark, fragment, is_short in links:
        if is_short and targets.get(fragment) in notes and marks[5 * mark + 3] != RETURN:
            if targets[fragment] > (<int *> recording._linked.data)[mark]:
                marks[5 * mark + 3] = REFERENCE
    return notes


cdef list _links(Recording recording, list texts):
    """Return the index of each link within the page, its fragment, and True if it is as short as a reference."""
    cdef int *marks = <int *> recording._marks.data
    cdef int *linked = <int *> recording._linked.data
    cdef int mark
    found = []
    for mark in range(<int> (recording._linked.used // sizeof(int))):
        if linked[mark] == NONE:
            continue
        address = recording._strings[marks[5 * mark + 4]]
        if "#" in address:
            text = texts[marks[5 * mark]][marks[5 * mark + 1] : marks[5 * mark + 2]]
            found.append((mark, footnotes.fragment_of(address), footnotes.is_reference(text)))
    return found


cdef dict _targets(Rows rows, set wanted):
    """Return the elements that have the wanted ids: for parts of lines, those that hold the line."""
    cdef int index
    found = {}
    for index in range(rows.count()):
        name = _id_of(rows.at(index).element)
        if name in wanted and name not in found:
            found[name] = rows._above_line(index)
    return found


cdef str _id_of(Element *element):
    """Return the id of an element, or the name of a link; empty without one."""
    cdef String value = lexbor.value_of(element.id)
    if not value.length and spells(tag_name(element.node.name), b"a"):
        value = value_of(element, NAME)
    return decoded(value) if value.length <= MAX_ID else ""


cdef list _ids_around(Rows rows, int row):
    """Return the ids of a link and of the elements around it."""
    cdef int around
    found = []
    for around in range(MAX_AROUND_LINK):
        if row != NONE:
            found.append(_id_of(rows.at(row).element))
            row = rows.at(row).parent
    return [name for name in found if name]


cdef list _rows_around(Rows rows, int row):
    cdef int around
    found = []
    for around in range(MAX_IN_NOTE):
        if row != NONE:
            found.append(row)
            row = rows.at(row).parent
    return found
