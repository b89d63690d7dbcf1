import pytest

from dehusk.inference.segmentation.segmentation import segment

PHRASES = "Surround Ready NVIDIA sells GPU Boost 2.0 This in 31 Jul at noon"
LINKS = "write a review see all one two"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<a>Desk mat XL</a><span>€19.90</span>", "Desk mat XL €19.90"),
        ("<s>€24</s><span>€19</span><span>US</span>", "€24 €19 US"),
        ("<span>19 €</span><span>24 €</span><span>new</span>", "19 € 24 € new"),
        ("costs <span>$</span><span>19</span><span>€</span>", "costs $19€"),
        ("US<span>$5</span>", "US$5"),
        (
            "<span>Price:</span><span>19.90</span> <span>Size:</span>12 No:<span>3</span>",
            "Price: 19.90 Size: 12 No: 3",
        ),
        ("<span>12:</span><span>30</span> <span>1,</span><span>000</span>", "12:30 1,000"),
        (
            "<b>walter</b><span>(5 posts)</span> item<span>(s)</span> f<span>(12)</span>",
            "walter (5 posts) item(s) f(12)",
        ),
        ("<span>walter</span><span>[mod]</span><span>2 posts</span>", "walter [mod] 2 posts"),
        ("<span>500+</span><span>customers</span><span>50%</span><span>off</span>", "500+ customers 50% off"),
        (
            "<span>Jan 5</span><span>·</span><span>3 min</span><span>|</span><span>News</span>",
            "Jan 5 · 3 min | News",
        ),
        ("<span>Jane</span><span>@jane</span><span>#12</span>", "Jane @jane #12"),
        (
            "<span>Tags,</span><span>more</span><span>«so»</span><span>“it”</span><a>goes…</a><a>on",
            "Tags, more «so» “it” goes… on",
        ),
        ("<span>f</span><span>(</span><span>x</span><span>)</span>", "f(x)"),
        (
            "<code><span>foo</span><span>(</span><span>Bar</span><span>)</span></code><span>Foo",
            "foo(Bar) Foo",
        ),
        ("<span>Use</span><code>Foo</code>", "Use Foo"),
        ("word<a>[1]</a><a>[2]</a>", "word[1] [2]"),
        (
            "<b>Fast delivery</b>We ship <i>the <u>same day</u></i>Or not",
            "Fast delivery We ship the same day Or not",
        ),
        (
            "in<em>Alpine Huts</em> 5 €<small>With tax</small> <b>It is.</b>Then",
            "in Alpine Huts 5 € With tax It is. Then",
        ),
        ("<em>Two\nwords</em>Then <em>five&nbsp;more\n</em>", "Two words Then five more"),
        ("<em>Surround Ready</em>NVIDIA sells <b>GPU Boost 2.0</b>This in 31<i>Jul at noon</i>", PHRASES),
        ("5<i class=icon></i>6 <i class=icon></i>New<b class=caret></b>York", "5 6 New York"),
        ("<a href=a>write a review</a><a href=b>see all</a> <a href='#'>one</a><a href='#'>two</a>", LINKS),
        ("<a href=a class=x>sports</a><a href=a>more</a><a href=a>News", "sports more News"),
        ("<a href=a class=x>Politics</a><a href=a class=x>politics", "Politics politics"),
        ("<span class=TextRun>one</span><span class=Run>two</span><span>three</span>", "one two three"),
        ("<b>Colour:</b>red <b>Size:</b>12 fast<b>Cons:</b>Dear", "Colour: red Size: 12 fast Cons: Dear"),
        (
            "<b>Pages</b>256 <strong>Größe</strong>12 cm of<b>API keys</b>",
            "Pages 256 Größe 12 cm of API keys",
        ),
        (
            f"<b>Art.-Nr:</b>12 <b>Tel.Nr:</b>3 <b>v.größe:</b>4 <b>{'a.' * 127}b:</b>5",
            f"Art.-Nr: 12 Tel.Nr: 3 v.größe: 4 {'a.' * 127}b: 5",
        ),
    ],
)
def test_what_style_alone_keeps_apart_is_parted_by_a_space(html: str, text: str) -> None:
    assert segment(html.encode()).texts == (text,)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<b>You</b>Tube <i>i</i>Phone Java<b>Script</b>", "YouTube iPhone JavaScript"),
        (
            "<b>two word</b>s a<b>B c</b> <b>at 12:</b>30 <b>the U.</b>S. <b>my e</b>Book",
            "two words aB c at 12:30 the U.S. my eBook",
        ),
        ("<code>a b</code><code>Foo</code>", "a bFoo"),
        (
            "<a href=a>Co</a><a href=a rel=x>ntact us</a> <a href=a>Br</a><a href=a>ands",
            "Contact us Brands",
        ),
        ("<span class='NormalTextRun A'>child</span><span class='NormalTextRun B'>ren</span>", "children"),
        (
            "super<wbr class=x>cali un<strong class=x></strong>done a<i class=x> </i>b foo<i></i>bar",
            "supercali undone a b foobar",
        ),
        ("<b>PS</b>5 <b>MP</b>3 i<b>Phone</b>5 <i>word</i>1 <b>word1</b>2", "PS5 MP3 iPhone5 word1 word12"),
        ("mac<b>OS devices</b> watch<i>OS on time</i>", "macOS devices watchOS on time"),
        (
            "<b>localhost:</b>8080 <b>http://db:</b>80 <span>a.test:</span><span>81",
            "localhost:8080 http://db:80 a.test:81",
        ),
        ("(<b>localhost:</b>8080) <b>a.my-host.test:</b>80", "(localhost:8080) a.my-host.test:80"),
        ("foo<b></b>bar <b>on a PC</b>s <b>the big PC</b>MAX", "foobar on a PCs the big PCMAX"),
    ],
)
def test_what_is_marked_in_a_word_is_part_of_it(html: str, text: str) -> None:
    assert segment(html.encode()).texts == (text,)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("$19<sup>99</sup> €1,019<sup>50</sup> $ 7<sup>00</sup>", "$19.99 €1,019.50 $ 7.00"),
        ("19<sup>99</sup> $10<sup>9</sup> $10<sup>100</sup> $1<sub>99</sub>", "19^99 $10^9 $10^100 $1_99"),
    ],
)
def test_raised_digits_behind_money_are_cents(html: str, text: str) -> None:
    assert segment(html.encode()).texts == (text,)
