"""Hostile text wherever the app shows text: nothing leaves the page, in Chromium."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from desks import environment_of
from docmind.application import DocMind
from docmind.config import LLMSettings
from docmind.llm.client import ServedModel
from docmind.llm.service import OneModel
from docmind.records.conversations import ModelInfo
from docmind.records.documents import Upload
from exfiltration import Canary, payloads
from libraries import Library, confirm
from llm_server import Behaviour, LLMServer, serving
from papers import line, pdf
from served import App, Server, Tab, close_reader, read_page, tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

OPENERS = re.compile(r"```|~~~|^---", re.MULTILINE)  # these may swallow what follows: each gets its own answer
TOGETHER = 12
ASKED = "Why do zebras share their quota?"
ANSWERS, QUOTES = "answers", "quotes"  # ids of conversations
# Of the canary, whose address is in the library: none that the system gives to others. A second run has the next.
PORTS = range(28_471, 28_479)

# Changes that are undone before anybody looks at the whole page.
PASSING = """async url => {
  const turn = () => new Promise(done => setTimeout(done, 0));
  const app = document.querySelector('[data-testid="stApp"]');
  const place = document.createElement('div');
  place.innerHTML = '<a></a><style></style><span class="stMarkdownBadge">1</span>';
  app.append(place);
  const [link, style, badge] = place.children;
  style.append('p {}');
  await turn();
  link.setAttribute('ping', `${url}-attribute`);
  style.firstChild.data = `@import "${url}-style";`;
  badge.firstChild.data = `${url}-coloured`;
  await turn();
  const below = document.createElement('div');
  below.innerHTML = `<p><cite><q cite="${url}-below"></q></cite></p>`;
  app.append(below);
  await turn();
  below.remove();
  place.remove();
}"""

# Everything in the page that a browser fetches, resolves or follows and that leads elsewhere, and everything that
# foreign text can produce: mathematics, colours, badges. What is added or changed is looked at when it is; the whole
# page at each `__look()`.
WATCH = """
window.__found = window.__found || new Set();
window.__check = (() => {
  const elsewhere = value => /127\\.0\\.0\\.1:(?!OWNPORT)|example\\.com|\\.invalid/i.test(value);
  const names = new Set(['href', 'src', 'srcset', 'imagesrcset', 'poster', 'data', 'action', 'formaction', 'ping',
                         'background', 'xlink:href', 'style', 'srcdoc', 'manifest', 'cite', 'longdesc', 'values',
                         'content', 'classid']);
  return one => {
    const told = () => `${one.outerHTML.slice(0, 200)}`;
    for (const {name, value} of one.attributes) {
      if (!value || !names.has(name)) continue;
      if (elsewhere(value)) window.__found.add(`${name}: ${told()}`);
      if (name === 'href' && one.tagName === 'A'
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
      if (one.matches('.katex, [data-testid="stMarkdownContainer"] a:not([href^="#read="], [href^="#xray="]), '
                      + '[data-testid="stMarkdownContainer"] img, .mermaid, .vega-embed, .stMarkdownShimmer')) {
        window.__found.add(`formed: ${told()}`);
      }
      if (one.matches('[class*="stMarkdownColored"], .stMarkdownBadge')
          && !/^\\s*(\\d+|not found( in your documents)?|check\\s*ready( · OCR)?)\\s*$/.test(one.textContent)) {
        window.__found.add(`coloured: ${told()}`);
      }
    }
  };
})();
window.__look = () => {
  for (const one of document.querySelectorAll('*')) window.__check(one);
  return [...window.__found];
};
new MutationObserver(records => {
  const changed = new Set(), added = new Set();
  const add = one => {
    if (one.nodeType !== Node.ELEMENT_NODE || added.has(one)) return;
    for (const each of [one, ...one.querySelectorAll('*')]) added.add(each);
  };
  for (const {type, target, addedNodes} of records) {
    const one = target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement;
    if (type === 'attributes') changed.add(one);
    addedNodes.forEach(add);
    const above = type === 'attributes' || !one ? null
      : one.closest('style, [class*="stMarkdownColored"], .stMarkdownBadge');  // judged by the text in them
    if (above) changed.add(above);
  }
  for (const one of new Set([...changed, ...added])) window.__check(one);
}).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
"""


@dataclass
class Desk:
    """A served vault full of hostile text, and a tab that is watched from the start."""

    server: Server
    canary: Canary
    llm: LLMServer
    payloads: dict[str, str]
    tab: Tab

    def open(self, path: str) -> Tab:
        """Load a page of the app again."""
        self.tab.page.goto(f"{self.tab.url}{path}")
        return self.tab


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


def hostile_library(canary: Canary) -> Library:
    """Return a library full of payloads that call this canary; building it calls nobody."""
    hostile = payloads(canary.base)

    def fill(docmind: DocMind) -> None:
        confirm(docmind)
        assert isinstance(docmind.models, OneModel)
        for text in hostile.values():
            docmind.conversations.create(text[:190])
        with serving() as llm:
            served = ModelInfo("ollama", llm.url, "llama3.2:3b")
            docmind.models.model = ServedModel(served, LLMSettings())
            docmind.conversations.create("Answers", thread_id=ANSWERS)
            for number, answer in enumerate(answers(hostile)):
                llm.default = Behaviour(text=answer)
                question = f"Zebra quota {number}? {list(hostile.values())[number]}"
                turn = docmind.conversations.ask(question[:1_500], thread_id=ANSWERS)
                assert turn.answer is not None
                written = turn.answer if turn.answer.model else turn.answer.other  # no page supports what it wrote
                assert written is not None, turn.message
                assert written.model
            llm.default = Behaviour("status", status=500)
            docmind.conversations.create("Quotes", thread_id=QUOTES)
            for name in ("image", "html-img", "link", "bare", "latex-inline", "streamlit-colour", "autolink"):
                turn = docmind.conversations.ask(f"What is the zebra quota of {name}?", thread_id=QUOTES)
                assert turn.answer is not None
        for text in list(hostile.values())[::3]:
            docmind.memories.add(text[:1_900])
        assert not canary.calls, "reading, asking and remembering called somebody"

    return Library(f"exfiltration {canary.base}", documents(hostile), fill)


@pytest.fixture(scope="module")
def desk(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Serve a copy of the library; one tab goes through all tests, as each of them leaves the texts as they were."""
    folder = tmp_path_factory.mktemp("exfiltration")
    with Canary(PORTS) as canary, serving() as llm:
        server = App(
            folder,
            library=hostile_library(canary),
            **environment_of(
                folder,
                DOCMIND_LLM__PROVIDER="ollama",
                DOCMIND_LLM__URL=llm.url,
                DOCMIND_LLM__MODEL="llama3.2:3b",
            ),
        )
        assert not canary.calls, "reading, asking and remembering called somebody"
        server.start()
        with tab(browser, server) as one:
            one.page.add_init_script(WATCH.replace("OWNPORT", str(server.port)))
            one.open()
            yield Desk(server, canary, llm, payloads(canary.base), one)
            assert_quiet(one, canary)
        server.stop()
        assert "Traceback" not in server.log()


def test_what_a_model_wrote_calls_nobody(desk: Desk) -> None:
    one = desk.open(f"/?thread={ANSWERS}")
    show = one.page.get_by_role("button", name="Show it")
    show.first.wait_for()
    one.idle()
    while one.page.locator(".st-key-earlier button").count():
        one.page.locator(".st-key-earlier button").first.click()
        one.idle()
    while show.count():
        show.first.click()
        one.idle()
    shown = said(one)
    assert not [name for name in desk.payloads if f"Here is {name}:" not in shown]
    assert_quiet(one, desk.canary)
    for beside in ("history", "memory"):
        one.page.locator(f".st-key-beside-choice-{beside} button").first.click()
        one.idle()
        assert_quiet(one, desk.canary)


def test_nothing_is_called_while_a_model_writes(desk: Desk) -> None:
    """Cut off at every moment: the page is checked whenever it changes."""
    text = "\n\n".join(text for text in desk.payloads.values() if not OPENERS.search(text) and len(text) < 600)
    desk.llm.default = Behaviour(text=f"{text}\n\nThat is all, at last.", delay_s=0.004)
    one = desk.open("/")
    one.page.get_by_placeholder("Ask your documents").fill(ASKED)
    one.page.keyboard.press("Enter")
    one.page.get_by_text("Answered in").first.wait_for()
    one.idle()
    one.page.get_by_text("That is all, at last.").first.wait_for()
    assert_quiet(one, desk.canary)


def test_quotes_of_documents_call_nobody(desk: Desk) -> None:
    one = desk.open(f"/?thread={QUOTES}")
    one.page.get_by_text("zebra quota of").first.wait_for()
    one.idle()
    assert_quiet(one, desk.canary)
    one.page.locator('[data-testid="stChatMessage"] a[href^="#read="]:visible').first.click()
    one.page.locator("#docmind-reader[data-shown]").wait_for()
    one.idle()
    assert_quiet(one, desk.canary)
    close_reader(one)


def test_documents_and_their_names_call_nobody(desk: Desk) -> None:
    one = desk.tab
    one.go("Documents")
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
    assert_quiet(one, desk.canary)
    one.page.keyboard.press("Escape")
    one.page.keyboard.press("Escape")


def test_a_name_that_is_handed_in_and_binned_calls_nobody(desk: Desk) -> None:
    """In the lines that tell what became of a file."""
    one = desk.open("/documents")
    one.page.locator(".lib-row").first.wait_for()
    name = f"{desk.payloads['image']} {desk.payloads['html-img']}".replace("/", "⁄")[:150]
    one.add((f"{name} :red[n] $n$ handed in.txt", b"It is handed in while the page is watched."))
    assert_quiet(one, desk.canary)
    one.page.get_by_placeholder("Find by title, name or tag").fill("handed in")
    row = one.page.locator(".lib-row", has_text="handed in.txt")
    row.get_by_role("checkbox").check()
    one.page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    one.page.get_by_text("is in the bin.").wait_for()
    assert_quiet(one, desk.canary)
    one.page.get_by_role("button", name="Undo").click()
    row.wait_for()
    assert_quiet(one, desk.canary)


def test_titles_call_nobody(desk: Desk) -> None:
    one = desk.open("/")
    one.page.locator(".st-key-threads").wait_for()
    one.idle()
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
    assert_quiet(one, desk.canary)


def test_the_watch_sees_what_leaves(desk: Desk) -> None:
    """The app's policy blocks and reports the request; without the policy it reaches the canary."""
    image = "url => { const one = new Image(); one.src = url; document.body.append(one); }"
    link = "host => { const one = document.createElement('link'); one.rel = 'dns-prefetch'; one.href = host;"
    link += " document.head.append(one); }"
    one = desk.tab
    assert_quiet(one, desk.canary)
    devtools = one.page.context.new_cdp_session(one.page)
    try:
        one.page.evaluate(image, f"{desk.canary.base}/blocked")
        one.page.evaluate("url => fetch(url).catch(() => 0)", f"{desk.canary.base}/blocked-too")
        one.page.evaluate(link, "//named.example.com")
        one.page.evaluate(PASSING, f"{desk.canary.base}/passing")
        one.idle()
        assert [told for told in one.complaints if "/blocked" in told]
        assert [told for told in one.complaints if "/blocked-too" in told]
        for found in (seen(one), " ".join(one.page.evaluate("window.__look()"))):
            assert "/blocked" in found
            assert "named.example.com" in found
            for name in ("attribute", "below", "style", "coloured"):
                assert f"/passing-{name}" in found, "it was there for a moment only"
        assert not desk.canary.calls

        devtools.send("Page.setBypassCSP", {"enabled": True})
        one.page.reload()
        one.page.get_by_role("link", name="Settings").wait_for()
        one.page.evaluate(image, f"{desk.canary.base}/seen")
        until = time.monotonic() + 30
        while not any("/seen" in call for call in desk.canary.calls):
            assert time.monotonic() < until, "without the policy the request did not arrive"
            one.page.wait_for_timeout(20)
    finally:
        devtools.send("Page.setBypassCSP", {"enabled": False})
        devtools.detach()
        desk.open("/")
        one.page.get_by_role("link", name="Settings").wait_for()
        one.idle()
        one.complaints.clear()
        desk.canary.calls.clear()


def seen(one: Tab) -> str:
    """Return what the watch has found so far, without a look at the whole page."""
    return " ".join(one.page.evaluate("[...window.__found]"))
