"""The built documentation in a real browser: `make docs-test`, after `make docs`.

Needs Chromium (`apt-get install chromium`). The pages come from a server on the loopback interface.
"""

from __future__ import annotations

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

import pytest
from browser import loaded

SITE = Path(__file__).parent.parent / "build/docs"
PAGES = sorted(
    page.relative_to(SITE).as_posix() for page in SITE.rglob("*.html") if "_static" not in page.parts
)
LINK = re.compile(r'<a\b[^>]*?\bhref="([^"]*)"')
ANCHOR = re.compile(r'\bid="([^"]*)"')


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    handler = functools.partial(Handler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def test_the_site_is_built() -> None:
    assert "index.html" in PAGES, "no pages: run `make docs`"
    assert len(PAGES) > 40


@pytest.mark.parametrize(
    "page", ["index.html", "how-it-works.html", "reference/contexts.html", "guide/scopes.html"]
)
def test_a_page_loads_with_its_scripts_and_styles(page: str, address: str, tmp_path: Path) -> None:
    document = loaded(address + page, tmp_path)
    title = re.search(r"<h1>([^<]*)<", (SITE / page).read_text(encoding="utf-8"))
    assert title is not None
    assert f"<h1>{title.group(1)}" in document
    # Furo's script has run.
    assert "no-js" not in document.split("<body", 1)[0].split("<head", 1)[0]


@pytest.mark.parametrize(
    ("words", "page"), [("unroll_count", "guide/scopes.html"), ("trampoline", "how-it-works.html")]
)
def test_the_search_finds_a_page(words: str, page: str, address: str, tmp_path: Path) -> None:
    document = loaded(f"{address}search.html?q={quote(words)}", tmp_path)
    results = document.split('id="search-results"', 1)[1]
    assert page in {urlsplit(link).path for link in LINK.findall(results)}


def test_the_picture_is_drawn(address: str, tmp_path: Path) -> None:
    assert "mov esi, [rsi + 0x80]" in loaded(address + "_images/site.svg", tmp_path)


@pytest.mark.parametrize("page", PAGES)
def test_no_link_inside_the_site_is_dead(page: str) -> None:
    dead = []
    for link in LINK.findall((SITE / page).read_text(encoding="utf-8")):
        address = urlsplit(urljoin(f"http://site/{page}", link.replace("&amp;", "&")))
        if address.netloc != "site":
            continue
        if not leads_somewhere(SITE / unquote(address.path.lstrip("/")), unquote(address.fragment)):
            dead.append(link)
    assert dead == []


def leads_somewhere(file: Path, anchor: str) -> bool:
    return file.is_file() and (not anchor or anchor in ANCHOR.findall(file.read_text(encoding="utf-8")))
