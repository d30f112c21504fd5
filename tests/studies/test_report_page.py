"""The page of ``primal reproduce``, read as HTML and used in a browser.

The browser is Chromium from the system (``tools/install_browser.sh``), driven by Playwright.
Without one these tests are skipped, except where ``CI`` or ``PRIMAL_REQUIRE_BROWSER`` is set. The
page is opened in Firefox too, and looked at by axe-core, where these are installed.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import chromium
import fake_paper
import firefox
import numpy as np
import pytest

from primal import DynamicPrime
from primal.decoding import Box
from primal_studies import paper
from primal_studies.paper import spiral

for _package in ("matplotlib", "jinja2", "scipy", "sklearn"):
    pytest.importorskip(_package)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A page with every status in it, alone in a folder."""
    root = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRIMAL_CACHE_DIR", "")
        fake_paper.install(patch)
        page = paper.reproduce(root / "out", only=["tides"], quick=True).page
    alone = root / "alone"
    alone.mkdir()
    shutil.copy(page, alone / "index.html")
    return alone / "index.html"


@pytest.fixture(scope="module")
def browser():
    with chromium.started() as browser:
        yield browser


@pytest.fixture
def opened(browser, made):
    """Return a function that opens the page; at the end nothing was fetched or complained about."""
    contexts, requests, complaints = [], [], []

    def open_page(width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(made.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert set(requests) <= {made.as_uri()}
    assert complaints == []


class _Reader(HTMLParser):
    """Collects names, links and sources, and checks that elements are closed in order."""

    _VOID = ("meta", "link", "input", "br", "hr", "img")

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        for name in ("href", "xlink:href"):
            if name in found:
                self.links.append(found[name])
        if "src" in found:
            self.sources.append(found["src"])
        if tag not in self._VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self._VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_holds_all_it_needs(made):
    text = made.read_text(encoding="utf-8")
    read = _Reader(text)
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    assert read.sources == []
    inside = {link[1:] for link in read.links if link.startswith("#")}
    assert inside <= set(read.ids)
    # One link leads out, to the paper; nothing is fetched.
    others = [link for link in read.links if not link.startswith(("#", "data:"))]
    assert others == ["https://arxiv.org/abs/2511.20839"]
    rest = text.replace("http://www.w3.org/", "").replace("http-equiv", "").replace(others[0], "")
    assert "http" not in rest


def test_the_page_says_what_it_is_about(made):
    text = " ".join(made.read_text(encoding="utf-8").split())
    for said in ("Vladimer Khasia", "arXiv:2511.20839", "square roots of primes", "Six findings"):
        assert said in text
    for raw in ("100% to 100%", "**", "_median"):
        assert raw not in text.partition("<script")[0]


def test_words_of_claims_are_text_and_not_markup(made):
    text = made.read_text(encoding="utf-8")
    assert "<calm>" not in text
    assert "the wind is &lt;calm&gt;" in text
    assert "The tides of the &lt;paper&gt;" in text


def test_data_are_in_the_page(made):
    links = [link for link in _Reader(made.read_text(encoding="utf-8")).links if "base64" in link]
    tables = [link for link in links if link.startswith("data:text/csv")]
    text = base64.b64decode(tables[0].partition("base64,")[2]).decode()
    assert [row["step"] for row in csv.DictReader(io.StringIO(text))] == list("01234")
    facts = [link for link in links if link.startswith("data:application/json")]
    assert set(json.loads(base64.b64decode(facts[0].partition("base64,")[2]))) == {
        *("peak", "count", "unused")
    }


def test_a_real_experiment_makes_a_whole_page(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIMAL_CACHE_DIR", "")
    made = paper.reproduce(tmp_path / "out", only=["hashing"], quick=True)
    read = _Reader(made.page.read_text(encoding="utf-8"))
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    assert {f"claim-{claim.name}" for claim in paper.claims()} <= set(read.ids)
    inside = {link[1:] for link in read.links if link.startswith("#")}
    assert inside <= set(read.ids)
    assert all(link.startswith(("#", "data:", "https://arxiv.org/")) for link in read.links)


def shown(page):
    """Names of the claims that can be seen."""
    rows = page.locator(".ledger > tbody > tr:visible")
    return [row.get_attribute("id").removeprefix("claim-") for row in rows.all()]


def test_claims_are_folded_by_part_of_the_paper(opened):
    page = opened()
    assert shown(page) == []
    groups = page.locator(".group-of-claims > summary")
    assert groups.count() == 6
    groups.first.click()
    assert shown(page) == ["shells-in_part"]
    page.locator("#unfold").click()
    assert len(shown(page)) == 8
    page.locator("#unfold").click()
    assert shown(page) == []


def test_the_filter_shows_one_verdict(opened):
    page = opened()
    assert page.locator("#shown").inner_text() == "8 of 8 claims, by part of the paper"
    for kind, names in {
        "holds": ["tides-holds"],
        "part": ["tides-in_part"],
        "fails": ["tides-fails"],
        "erratum": [],
        "untestable": ["shells-later", "tides-later"],
        "notrun": ["shells-in_part", "shells-fails", "shells-holds"],
    }.items():
        button = page.locator(f"[data-filter={kind}]")
        assert button.locator("b").inner_text() == str(len(names))
        button.click()
        assert shown(page) == names
        assert button.get_attribute("aria-pressed") == "true"
        assert page.locator(".filters [aria-pressed=true]").count() == 1
        for badge in page.locator(".ledger .badge:visible").all():
            assert badge.inner_text() in button.inner_text()  # a word, not a colour alone
    page.locator("[data-filter=notrun]").click()  # once more: all again, folded
    assert shown(page) == []
    assert page.locator(".group-of-claims:visible").count() == 6


def test_the_filter_works_from_the_keyboard(opened):
    page = opened()
    page.locator("[data-filter='']").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert shown(page) == ["tides-holds"]
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert shown(page) == ["tides-in_part"]


def test_search_takes_all_words_and_goes_with_the_filter(opened):
    page = opened()
    page.fill("#search", "SHELLS moon")
    assert shown(page) == ["shells-in_part", "shells-fails", "shells-holds"]
    page.fill("#search", "section 2.3")
    assert shown(page) == ["tides-holds"]
    page.locator("[data-filter=fails]").click()
    assert shown(page) == []
    assert page.locator("#none").is_visible()
    page.locator("#reset").click()
    assert page.locator(".group-of-claims:visible").count() == 6
    assert not page.locator("#none").is_visible()
    for words in ("cdma", "\u03c3", "sigma cdma", "rise to one"):
        page.fill("#search", words)
        assert len(shown(page)) == 6, words


def test_evidence_leads_to_figures_and_data(opened):
    page = opened()
    page.fill("#search", "tides")
    row = page.locator("#claim-tides-holds")
    for name, target in (
        ("Curve", "#figure-tides-curve"),
        ("Table: steps", "#table-tides-steps"),
    ):
        row.get_by_role("link", name=name).click()
        assert page.evaluate("location.hash") == target
        assert page.locator(target).is_visible()
    # Its fold is opened by an event that comes after the click.
    page.locator("#table-tides-steps table").wait_for(state="visible")
    with page.expect_download() as download:
        page.locator("#figure-tides-curve button.file").click()
    assert download.value.suggested_filename == "tides-curve.svg"
    assert Path(download.value.path()).read_text().startswith("<svg")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").locator("visible=true").click()
    assert Path(download.value.path()).read_text().startswith("step,kind,y,odd\n")


def test_light_and_dark_follow_the_system_and_the_button(opened):
    def ground(page):
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour[4:-1].split(",")) / 3

    light, dark = opened(), opened(color_scheme="dark")
    assert ground(light) > 200
    assert ground(dark) < 50
    dark.locator("#theme").click()
    assert ground(dark) > 200
    light.locator("#theme").click()
    assert ground(light) < 50
    light.reload()
    assert ground(light) < 50  # it is kept
    # Figures go with it: their ground and their ink.
    card = light.locator("button.zoom").first
    assert card.evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(29, 32, 37)"
    inks = """e => [...e.querySelectorAll('path')].map((p) => getComputedStyle(p).stroke)"""
    assert "rgb(163, 167, 174)" in card.evaluate(inks)  # axes
    assert "rgb(85, 91, 100)" not in card.evaluate(inks)


def test_a_figure_is_enlarged_and_put_away(opened):
    page = opened()
    dialog, stage = page.locator("#zoom"), page.locator("#stage")

    def scale():
        return float(stage.get_attribute("data-scale"))

    page.locator("#figure-tides-curve button.zoom").click()
    assert dialog.is_visible()
    assert page.locator("#zoom-label").inner_text() == "Curve"
    box = dialog.bounding_box()
    assert (box["width"], box["height"]) == (1280, 900)
    page.locator("[data-zoom=in]").click()
    assert scale() == 1.4
    page.mouse.move(640, 500)
    page.mouse.wheel(0, -400)
    page.wait_for_function("document.getElementById('stage').dataset.scale > 3.5")
    before = stage.locator("svg").bounding_box()
    page.mouse.down()
    page.mouse.move(700, 530)
    page.mouse.up()
    after = stage.locator("svg").bounding_box()
    assert (after["x"] - before["x"], after["y"] - before["y"]) == pytest.approx((60, 30))
    page.keyboard.press("0")
    assert scale() == 1.0
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.locator("#figure-tides-some-dots button.zoom").focus()
    page.keyboard.press("Enter")
    assert dialog.is_visible()
    page.locator("[data-zoom=close]").click()
    assert not dialog.is_visible()


def test_two_fingers_enlarge_a_figure(opened):
    page = opened(width=375, height=812, has_touch=True)
    page.locator("#figure-tides-curve button.zoom").tap()
    touch = page.context.new_cdp_session(page)
    for kind, apart in (("touchStart", 40), ("touchMove", 60), ("touchMove", 80)):
        points = [{"x": 180 + side * apart, "y": 400, "id": side} for side in (0, 1)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("document.getElementById('stage').dataset.scale === '2.000'")


def test_a_phone_scrolls_in_one_direction_only(opened):
    page = opened(width=375, height=812)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    wide = """() => [...document.querySelectorAll('main *')]
        .filter((e) => !e.closest('.scroll, pre') && e.getBoundingClientRect().right > 376)
        .map((e) => e.outerHTML.slice(0, 80))"""
    assert page.evaluate(wide) == []
    # A claim is a card: its cells stand below each other.
    page.fill("#search", "tides")
    # All at once: the page may still be scrolling.
    cells = page.locator("#claim-tides-holds > td")
    tops = cells.evaluate_all("all => all.map((cell) => cell.getBoundingClientRect().top)")
    assert tops == sorted(set(tops))


def test_on_paper_everything_is_there_and_nothing_to_press(opened):
    page = opened()
    page.locator("[data-filter=holds]").click()
    page.emulate_media(media="print", color_scheme="dark")
    assert len(shown(page)) == 8
    assert not page.locator(".filters").is_visible()
    assert not page.locator("#theme").is_visible()
    rules = page.locator(".ledger dd", has_text="Holds at 0.99")
    assert rules.count() == 6
    assert all(rule.is_visible() for rule in rules.all())
    assert page.locator(".data table").first.is_visible()
    page.emulate_media(media="screen", color_scheme="light")
    assert shown(page) == ["tides-holds"]
    assert not page.locator(".ledger dd").first.is_visible()


def test_the_first_screen_has_the_explorer_and_the_findings(opened):
    page = opened(width=1400, height=900)
    for part in ("#panel-input", "#panel-lattice", "#sigma-slider", "#fact-status"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] < 900, part
    assert page.locator("#fact-regime").inner_text() == "hash"  # its picture is there at once
    assert page.locator("#findings h3").count() == 6
    assert all(h.bounding_box()["y"] < 900 for h in page.locator("#findings h3").all())
    page.get_by_role("link", name="All 8 claims").click()
    assert page.evaluate("location.hash") == "#ledger"


def test_firefox_opens_the_page_without_a_complaint(made, tmp_path):
    executable = shutil.which("firefox-esr") or shutil.which("firefox")
    if executable is None:
        pytest.skip("no Firefox was found: run tools/install_browser.sh")
    with firefox.started(executable, tmp_path) as browser:
        browser.open(made.as_uri())
        browser.wait_for("return document.getElementById('fact-status').textContent")
        assert browser.run("return document.getElementById('fact-status').textContent") == (
            "only answer: 400"
        )
        assert browser.run("return performance.getEntriesByType('resource').length") == 0
        assert browser.complaints() == []
        # The check can fail.
        browser.run("setTimeout(() => { throw new Error('planted'); })")
        browser.wait_for("return true", until=lambda _: browser.complaints())
        assert browser.complaints() == ["Error: planted"]


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"width": 400}])
def test_axe_finds_no_serious_fault(browser, made, look):
    script = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        pytest.skip("axe-core was not found: run tools/install_browser.sh")
    options = {"viewport": {"width": look.pop("width", 1400), "height": 900}, **look}
    # The page's own policy would refuse the script that looks at it.
    with browser.new_context(bypass_csp=True, **options) as context:
        page = context.new_page()
        page.goto(made.as_uri())
        page.locator("#unfold").click()
        page.evaluate(script.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = [v["id"] for v in found if v["impact"] in ("serious", "critical")]
    assert serious == []


# The view that moves sigma


def picture(page, panel):
    return page.evaluate("(id) => document.getElementById(id).toDataURL()", panel)


def settle(page):
    """Wait until a picture asked for has been drawn."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_the_slider_goes_from_the_manifold_to_the_hash_regime(opened):
    page = opened()
    settle(page)
    regime, panels = page.locator("#fact-regime"), ("panel-latent", "panel-decoded")
    assert regime.inner_text() == "hash"
    page.locator("[data-outputs='4']").click()
    page.locator("[data-sigma='0.007']").click()
    settle(page)
    assert regime.inner_text() == "manifold"
    assert page.locator("#sigma-value").input_value() == "0.007"
    pictures = [picture(page, panel) for panel in panels]
    still = picture(page, "panel-input")
    page.locator("#sigma-slider").focus()
    page.keyboard.press("End")
    settle(page)
    assert page.locator("#sigma-value").input_value() == "2"
    assert regime.inner_text() == "hash"
    assert picture(page, "panel-input") == still
    for panel, before in zip(panels, pictures, strict=True):
        assert picture(page, panel) != before
    page.locator("#sigma-slider").fill("0")
    settle(page)
    assert page.locator("#sigma-value").input_value() == "0.001"
    assert regime.inner_text() == "manifold"
    page.fill("#sigma-value", "nonsense")
    assert page.locator("#sigma-value").get_attribute("aria-invalid") == "true"
    assert regime.inner_text() == "manifold"


@pytest.mark.parametrize(("sigma", "D"), [("0.007", 4), ("0.02", 4), ("1", 128), ("0.0005", 128)])
def test_the_view_prints_what_the_library_computes(opened, sigma, D):
    page = opened()
    page.fill("#sigma-value", sigma)
    page.locator(f"[data-outputs='{D}']").click()
    settle(page)
    x = spiral(400)
    m = DynamicPrime(2, D, float(sigma))
    regime = m.regime(x)
    printed = {name: page.locator(f"#fact-{name}").inner_text() for name in ("bound", "mse")}
    assert float(printed["bound"]) == pytest.approx(m.bound, rel=1e-3)
    error = np.square(m.decode(m.encode(x)) - x).mean()
    assert float(printed["mse"]) == pytest.approx(error, rel=0.06)  # two digits are printed
    assert page.locator("#fact-wrapped").inner_text() == f"{regime.fraction_wrapped:.1%}".replace(
        "%", " %"
    )
    assert page.locator("#fact-regime").inner_text() == regime.kind


def settings(page, **choices):
    for name, value in choices.items():
        page.select_option(f"[data-choice={name}]", value)
    settle(page)


@pytest.mark.parametrize(
    ("D", "library", "printed"),
    [(4, "ambiguous", "one of several: 400"), (128, "unique", "only answer: 400")],
)
def test_the_lattice_decoder_of_the_page_agrees_with_the_librarys(opened, D, library, printed):
    page = opened()
    page.fill("#sigma-value", "1")
    page.locator(f"[data-outputs='{D}']").click()
    settle(page)
    m = DynamicPrime(2, D)
    found = m.decode_plan(prior=Box(20.0)).decode(m.encode(spiral(400)))
    assert (found.status == library).all()
    assert page.locator("#fact-status").inner_text() == printed
    if library == "unique":
        assert float(page.locator("#fact-lattice").inner_text()) < 1e-12


def test_shapes_bases_noise_and_bits_of_the_explorer(opened):
    page = opened()
    page.fill("#sigma-value", "1")
    page.locator("[data-outputs='128']").click()
    for basis in ("paper", "kronecker"):
        settings(page, basis=basis, shape="circles", noise="0.5", bits="8")
        assert page.locator("#fact-status").inner_text() == "only answer: 400"
        # A phase off by 2**-9 turn at most, through 64 frequencies: an error, and a small one.
        assert 0.0 < float(page.locator("#fact-lattice").inner_text()) < 1e-4
        assert float(page.locator("#fact-mse").inner_text()) > 10.0
    settings(page, shape="own", noise="0", bits="32")
    page.locator("#panel-input").scroll_into_view_if_needed()
    box = page.locator("#panel-input").bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 140, box["y"] + 160, steps=30)
    page.mouse.up()
    settle(page)
    assert float(page.locator("#fact-lattice").inner_text()) < 1e-12


def awkward_points():
    """Points of very different sizes: zeros, signs, powers of two, halves of the last digit."""
    rng = np.random.default_rng(5)
    drawn = rng.standard_normal((200, 2)) * 10.0 ** rng.uniform(-9, 3, (200, 2))
    special = [
        *([0.0, 0.0], [0.0, -1.0], [1.0, 0.0], [0.5, -0.5], [1024.0, -1024.0]),
        *([1.0, 2.0**-62], [1.0, 2.0**-63], [1.0, 3 * 2.0**-63], [-1.0, -3 * 2.0**-63]),
        *([1.0, 5e-324], [np.nextafter(1.0, 0.0), np.nextafter(1.0, 2.0)], [1 / 3, -2 / 3]),
    ]
    return np.concatenate([spiral(100), drawn, np.array(special)])


def some_sigmas():
    drawn = np.random.default_rng(7).uniform(np.log(1e-6), np.log(1e3), 12)
    return [0.001, 0.007, 0.02, 1.0, 2.0, 0.1 + 0.2, np.pi, 1e-5, *np.exp(drawn).tolist()]


@pytest.mark.parametrize("basis", ["paper", "kronecker"])
@pytest.mark.parametrize("D", [4, 128])
def test_phases_and_features_are_the_librarys_bit_for_bit(opened, basis, D):
    page = opened()
    x = awkward_points()
    compute = """({x, D, sigmas, basis}) => sigmas.map((sigma) => {
        const shapes = JSON.parse(document.getElementById("explorer-shapes").textContent);
        const frequencies = shapes[basis]?.slice(0, D / 2).flatMap((w) => w.map((v) => sigma * v));
        const map = new primal.DynamicPrime({ d: 2, D, sigma, frequencies });
        const turns = map.turns(x.flat()), z = map.features(turns);
        const text = (words) => Array.from(
            new Uint8Array(words.buffer), (byte) => String.fromCharCode(byte)).join("");
        return [btoa(text(turns)), btoa(text(z))];
    })"""
    sigmas = some_sigmas() if D == 4 else some_sigmas()[::4]
    results = page.evaluate(compute, {"x": x.tolist(), "D": D, "sigmas": sigmas, "basis": basis})
    for sigma, (turns, bits) in zip(sigmas, results, strict=True):
        m = DynamicPrime(2, D, sigma, basis=basis)
        for coded, right in ((turns, m.turns(x)), (bits, m.encode(x))):
            found = np.frombuffer(base64.b64decode(coded), dtype="<u4")
            np.testing.assert_array_equal(
                found, right.view(np.uint32).ravel(), err_msg=f"sigma = {sigma!r}"
            )
