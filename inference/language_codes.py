"""The codes in ISO 639 of the languages that pages and servers declare, and the tags that have them."""

import re

_OF_MODEL = """
    af als am an ar arz as ast av az azb ba bar bcl be bg bh bn bo bpy br bs bxr ca cbk ce ceb ckb co cs
    cv cy da de diq dsb dty dv el eml en eo es et eu fa fi fr frr fy ga gd gl gn gom gu gv he hi hif hr
    hsb ht hu hy ia id ie ilo io is it ja jbo jv ka kk km kn ko krc ku kv kw ky la lb lez li lmo lo lrc lt
    lv mai mg mhr min mk ml mn mr mrj ms mt mwl my myv mzn nah nap nds ne new nl nn no oc or os pa pam pfl
    pl pms pnb ps pt qu rm ro ru rue sa sah sc scn sco sd sh si sk sl so sq sr su sv sw ta te tg th tk tl
    tr tt tyv ug uk ur uz vec vep vi vls vo wa war wuu xal xmf yi yo yue zh
"""
_OTHERS = """
    aa ab ae ak ay bi bm ch cr cu dz ee ff fj fo ha ho hz ig ii ik iu ki kj kl kr ks lg ln lu mh mi na nb
    nd ng nr nv ny oj om pi rn rw se sg sm sn ss st tn to ts tw ty ve wo xh za zu bal ber chr cmn cnr fil
    fur gsw hak haw hmn kab lad lij nan nso prs sma smj smn sms szl tet tpi tzm udm
"""
"""Two letters: all that the model does not know. Three: some that pages declare."""
_RENAMED = {"iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro"}
_REGION = re.compile("[a-z]{2}|[0-9]{3}")
_CODES = frozenset((*_OF_MODEL.split(), *_OTHERS.split()))


_SCRIPTS_OF_WINDOWS = {"chs": "Hans", "cht": "Hant"}


def language_tag(tag: str | None) -> str | None:
    """Return the language, script and region of a tag, or of the first in a list: `en-GB` of `en_gb, fr`.

    Return None if the language is no code of one; a deprecated code is replaced, such as `iw` by `he`.
    Variants, extensions and what is malformed are left out.
    """
    first, *others = (tag or "").split(",")[0].strip().lower().replace("_", "-").split("-")
    code = _RENAMED.get(first, first)
    if code not in _CODES:
        return None
    script = region = ""
    for subtag in (_SCRIPTS_OF_WINDOWS.get(each, each) for each in others):
        if len(subtag) == 1:  # of an extension
            break
        if not script and not region and len(subtag) == 4 and subtag.isascii() and subtag.isalpha():
            script = subtag.capitalize()
        elif not region and _REGION.fullmatch(subtag):
            region = subtag.upper()
    return "-".join(filter(None, (code, script, region)))


def primary_language(tag: str | None) -> str | None:
    """Return the primary subtag of a language tag, as `language_tag` reads it: `en` of `en-GB, fr`."""
    found = language_tag(tag)
    return found.split("-")[0] if found else None
