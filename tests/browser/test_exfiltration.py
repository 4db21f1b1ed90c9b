"""Hostile text wherever the app shows text: nothing leaves the page, in Chromium."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from docmind.application import DocMind
from docmind.config import KeySettings, LLMSettings, Settings
from docmind.records.documents import Upload
from exfiltration import Canary, payloads
from llm_server import Behaviour, LLMServer, serving
from papers import line, pdf
from served import Server, Tab, close_reader, read_page, tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

OPENERS = re.compile(r"```|~~~|^---", re.MULTILINE)  # these may swallow what follows: each gets its own answer
TOGETHER = 12
ASKED = "What is the zebra quota?"

# Everything in the page that a browser fetches, resolves or follows and that leads elsewhere, and everything that
# foreign text can produce: mathematics, colours, badges.
WATCH = """
window.__found = window.__found || new Set();
window.__look = () => {
  const elsewhere = value => /127\\.0\\.0\\.1:(?!OWNPORT)|example\\.com|\\.invalid/i.test(value);
  const names = ['href', 'src', 'srcset', 'imagesrcset', 'poster', 'data', 'action', 'formaction', 'ping', 'background',
                 'xlink:href', 'style', 'srcdoc', 'manifest', 'cite', 'longdesc', 'values', 'content', 'classid'];
  for (const one of document.querySelectorAll('*')) {
    const told = () => `${one.outerHTML.slice(0, 200)}`;
    for (const name of names) {
      const value = one.getAttribute(name);
      if (value && elsewhere(value)) window.__found.add(`${name}: ${told()}`);
      if (value && name === 'href' && one.tagName === 'A'
          && /^\\s*(javascript|data|mailto|blob|file|ftp|wss?):/i.test(value)) {
        window.__found.add(`scheme: ${told()}`);
      }
    }
    if (one.tagName === 'STYLE' && elsewhere(one.textContent)) window.__found.add(`style: ${told()}`);
    if (one.closest('[data-testid="stApp"]')) {
      if (/^(IFRAME|OBJECT|EMBED|SCRIPT|VIDEO|AUDIO|BASE|META|LINK|MATH|FORM|DETAILS)$/i.test(one.tagName)
          && !one.matches('[data-testid="stForm"], [data-testid="stExpander"] details')
          && !(one.matches('link[rel="stylesheet"]') && one.href.startsWith(`${location.origin}/`)
               && one.href.includes('/_stcore/bidi-components/docmind.'))) {
        window.__found.add(`element: ${told()}`);
      }
      if (one.matches('.katex, [data-testid="stMarkdownContainer"] a:not([href^="#read="]), '
                      + '[data-testid="stMarkdownContainer"] img, .mermaid, .vega-embed, .stMarkdownShimmer')) {
        window.__found.add(`formed: ${told()}`);
      }
      if (one.matches('[class*="stMarkdownColored"], .stMarkdownBadge')
          && !/^\\s*(\\d+|not found( in your documents)?|check\\s*ready( · OCR)?)\\s*$/.test(one.textContent)) {
        window.__found.add(`coloured: ${told()}`);
      }
    }
  }
  return [...window.__found];
};
new MutationObserver(() => window.__look()).observe(document, {subtree: true, childList: true, attributes: true});
"""


@dataclass
class Desk:
    """A served vault full of hostile text."""

    server: Server
    canary: Canary
    llm: LLMServer
    payloads: dict[str, str]
    thread_id: str
    quotes_id: str

    @contextmanager
    def tab(self, browser: Any) -> Iterator[Tab]:
        """Open a tab that is watched from the start; assert at its end that nothing has left it."""
        with tab(browser, self.server) as one:
            one.page.add_init_script(WATCH.replace("OWNPORT", str(self.server.port)))
            yield one
            assert_quiet(one, self.canary)


def assert_quiet(one: Tab, canary: Canary) -> None:
    assert not one.page.evaluate("window.__look()")
    assert not one.complaints
    assert not canary.calls


def said(one: Tab) -> str:
    """Return all text of the main part of the page."""
    main = one.page.locator('[data-testid="stMain"], [data-testid="stAppScrollToBottomContainer"]').first
    return main.inner_text().replace("\u2060", "")


def answers(hostile: dict[str, str]) -> list[str]:
    """Return the model's replies: every payload after its name, so that it is known to be on the page."""
    alone = [name for name, text in hostile.items() if OPENERS.search(text)]
    rest = [name for name in hostile if name not in alone]
    groups = [rest[at : at + TOGETHER] for at in range(0, len(rest), TOGETHER)] + [[name] for name in alone]
    return ["\n\n".join(f"Here is {name}:\n\n{hostile[name]}" for name in group) for group in groups]


def documents(hostile: dict[str, str]) -> list[Upload]:
    """Return documents with payloads as text, markup, titles and file names."""
    lines = [f"The zebra quota of {name} is {' '.join(text.split())} zebras." for name, text in hostile.items()]
    shown = [re.sub(r"[()\\]", r"\\\g<0>", text)[:110].encode("latin-1", "replace").decode("latin-1") for text in lines]
    pages = ["\n".join(line(text, 20, 760 - 24 * at, 9) for at, text in enumerate(shown[start : start + 30]))
             for start in range(0, len(shown), 30)]  # fmt: skip
    escaped = "".join(f"<p>{html.escape(text)}</p>" for text in lines)
    title = html.escape(hostile["image"] + hostile["html-img"] + hostile["streamlit-colour"])
    raw = "".join(f"<div>{text}</div>" for text in hostile.values())
    named = [
        Upload(f"{text.replace('/', '⁄').replace(chr(0), '')[:150]} {name}.txt", f"File of {name}.".encode())
        for name, text in list(hostile.items())[::4]
    ]
    return [
        Upload("lines.txt", "\n\n".join(lines).encode("utf-8", "replace")),
        Upload("whole.md", "\n\n".join(hostile.values()).encode("utf-8", "replace")),
        Upload("page.html", f"<title>{title}</title><body>{escaped}</body>".encode("utf-8", "replace")),
        Upload("raw.html", f"<title>raw</title><body><p>Raw zebras.</p>{raw}</body>".encode("utf-8", "replace")),
        Upload("sheet.pdf", pdf(pages, title=re.sub(r"[()\\]", r"\\\g<0>", hostile["image"]))),
        *named,
    ]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("exfiltration")
    with Canary() as canary, serving() as llm:
        hostile = payloads(canary.base)
        settings = Settings(
            data_dir=folder / "data",
            keys=KeySettings(source="file", file=folder / "key"),
            llm=LLMSettings(provider="ollama", url=llm.url, model="llama3.2:3b"),
        )
        with DocMind(settings) as mind:
            mind.models.list(refresh=True)  # so that no question has to wait until a busy machine finds the server
            results = mind.add(documents(hostile))
            assert not [result.message for result in results if result.status == "refused"]
            for text in hostile.values():
                mind.conversations.create(text[:190])
            thread = mind.conversations.create("Answers")
            for number, answer in enumerate(answers(hostile)):
                llm.default = Behaviour(text=answer)
                question = f"Zebra quota {number}? {list(hostile.values())[number]}"
                turn = mind.conversations.ask(question[:1_500], thread_id=thread.thread_id)
                assert turn.answer is not None
                assert turn.answer.model, turn.message
            llm.default = Behaviour("status", status=500)
            quotes = mind.conversations.create("Quotes")
            for name in ("image", "html-img", "link", "bare", "latex-inline", "streamlit-colour", "autolink"):
                turn = mind.conversations.ask(f"What is the zebra quota of {name}?", thread_id=quotes.thread_id)
                assert turn.answer is not None
            for text in list(hostile.values())[::3]:
                mind.memories.add(text[:1_900])
        server = Server(
            folder,
            DOCMIND_LLM__PROVIDER="ollama",
            DOCMIND_LLM__URL=llm.url,
            DOCMIND_LLM__MODEL="llama3.2:3b",
        )
        server.start()
        assert not canary.calls, "reading, asking and remembering called somebody"
        yield Desk(server, canary, llm, hostile, thread.thread_id, quotes.thread_id)
        server.stop()
        assert "Traceback" not in server.log()


def test_the_watch_sees_what_leaves(browser: Any, desk: Desk) -> None:
    """The app's policy blocks and reports the request; without the policy it reaches the canary."""
    calls = len(desk.canary.calls)
    image = "url => { const one = new Image(); one.src = url; document.body.append(one); }"
    link = "host => { const one = document.createElement('link'); one.rel = 'dns-prefetch'; one.href = host;"
    link += " document.head.append(one); }"
    with tab(browser, desk.server) as one:
        one.page.add_init_script(WATCH.replace("OWNPORT", str(desk.server.port)))
        one.open()
        one.page.evaluate(image, f"{desk.canary.base}/blocked")
        one.page.evaluate("url => fetch(url).catch(() => 0)", f"{desk.canary.base}/blocked-too")
        one.page.evaluate(link, "//named.example.com")
        one.idle()
        assert [told for told in one.complaints if "/blocked" in told]
        assert [told for told in one.complaints if "/blocked-too" in told]
        found = " ".join(one.page.evaluate("window.__look()"))
        assert "/blocked" in found
        assert "named.example.com" in found
        one.complaints.clear()
    assert len(desk.canary.calls) == calls
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(desk.server.link())
    page.evaluate(image, f"{desk.canary.base}/seen")
    page.wait_for_timeout(1_000)
    context.close()
    assert any("/seen" in call for call in desk.canary.calls)
    desk.canary.calls.clear()


def test_what_a_model_wrote_calls_nobody(browser: Any, desk: Desk) -> None:
    with desk.tab(browser) as one:
        one.open()
        one.page.goto(f"{one.url}/?thread={desk.thread_id}")
        one.page.get_by_text("Here is image:").first.wait_for()
        one.idle()
        while one.page.locator(".st-key-earlier button").count():
            one.page.locator(".st-key-earlier button").first.click()
            one.idle()
        shown = said(one)
        assert not [name for name in desk.payloads if f"Here is {name}:" not in shown]
        assert_quiet(one, desk.canary)
        for beside in ("history", "memory"):
            one.page.locator(f".st-key-beside-choice-{beside} button").first.click()
            one.idle()
            assert_quiet(one, desk.canary)


def test_nothing_is_called_while_a_model_writes(browser: Any, desk: Desk) -> None:
    """Cut off at every moment: the page is checked whenever it changes."""
    text = "\n\n".join(text for text in desk.payloads.values() if not OPENERS.search(text) and len(text) < 600)
    desk.llm.default = Behaviour(text=f"{text}\n\nThat is all, at last.", delay_s=0.004)
    with desk.tab(browser) as one:
        one.open()
        one.page.get_by_placeholder("Ask your documents").fill(ASKED)
        one.page.keyboard.press("Enter")
        one.page.get_by_text("That is all, at last.").first.wait_for()
        one.page.get_by_text("Answered in").first.wait_for()
        one.idle()


def test_quotes_of_documents_call_nobody(browser: Any, desk: Desk) -> None:
    with desk.tab(browser) as one:
        one.open()
        one.page.goto(f"{one.url}/?thread={desk.quotes_id}")
        one.page.get_by_text("zebra quota of").first.wait_for()
        one.idle()
        assert_quiet(one, desk.canary)
        one.page.locator('[data-testid="stChatMessage"] a[href^="#read="]:visible').first.click()
        one.page.locator("#docmind-reader[data-shown]").wait_for()
        one.idle()
        assert_quiet(one, desk.canary)
        close_reader(one)


def test_documents_and_their_names_call_nobody(browser: Any, desk: Desk) -> None:
    with desk.tab(browser) as one:
        one.open("Documents")
        assert_quiet(one, desk.canary)
        for name in ("lines.txt", "whole.md", "page.html", "raw.html", "sheet.pdf"):
            one.page.get_by_placeholder("Find by title, name or tag").fill(name)
            one.page.locator(".lib-row", has_text=name).get_by_role("link").click()
            one.idle()
            one.page.locator(".doc-pages a").first.click()
            read_page(one, 1)
            assert_quiet(one, desk.canary)
            close_reader(one)
            one.page.get_by_role("button", name="All documents").click()
            one.idle()
        one.go("Ask")
        one.page.locator('[data-testid="stPopover"] button').first.click()
        one.idle()
        one.page.locator('[data-testid="stMultiSelect"] input').first.click()
        one.idle()


def test_titles_call_nobody(browser: Any, desk: Desk) -> None:
    with desk.tab(browser) as one:
        one.open()
        while one.page.locator(".st-key-more-threads button").count():
            one.page.locator(".st-key-more-threads button").click()
            one.idle()
        rows = one.page.locator('.st-key-threads [class*="st-key-show-"]')
        rows.nth(len(desk.payloads) - 1).wait_for()
        assert_quiet(one, desk.canary)
        row = one.page.locator('.st-key-threads [class*="thread-"]', has_text="<img").first
        row.get_by_role("button", name="Menu").focus()
        one.page.keyboard.press("Enter")
        one.page.get_by_role("menuitem", name="Delete").click()
        notice = one.page.locator(".st-key-undo-delete")
        notice.wait_for()
        assert notice.inner_text().startswith("Deleted ")  # a long title is shortened in the middle
        assert notice.locator("img").count() == 0
        assert_quiet(one, desk.canary)
        one.page.locator(".st-key-undo button").click()
        row.wait_for()
