"""Agent mode: a model that calls tools in a loop, limited in steps, seconds and tokens.

The tools search, open a page, recall memories and search the web, which is offered only where the user agreed.
Arguments come from a model and are checked; results come from documents and are quoted. Tools give a model text and no
paths; images of pages that they find follow in a message of their own, where the model accepts images.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from docmind.config import Settings, WebSettings
from docmind.conversations.nodes import Steps
from docmind.conversations.pictures import PageImages, blind
from docmind.conversations.prompts import SEES, named, room_of, shown, tokens_of
from docmind.conversations.retrieval import Retrieval
from docmind.conversations.run_context import RunContext, written_of
from docmind.conversations.state import State, filters_of
from docmind.documents import Catalog
from docmind.errors import ConfigError, ImagesRefusedError, LanguageModelError, WebSearchError
from docmind.llm import ChatModel, Message, Tool, ToolCall
from docmind.memory import Memories
from docmind.network import search_web
from docmind.records.documents import page_id_of
from docmind.records.search import Degraded, PageHit
from docmind.wording import _

_RESULT_TOKENS = 1_500  # of one tool's answer
_PAGE_CHARACTERS = 5_000
_LONGEST_QUERY = 1_000


def _parameters(**described: tuple[str, str]) -> dict:
    properties = {name: {"type": kind, "description": told} for name, (kind, told) in described.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


SEARCH = Tool(
    "multimodal_search",
    "Search all of the user's documents for passages, and for pages that look like what is asked. Use other words than"
    " before.",
    _parameters(query=("string", "what to look for")),
)
OPEN_PAGE = Tool(
    "open_page",
    "Read one whole page of a document that a passage came from.",
    _parameters(document=("string", "its name, as the passages give it"), page=("integer", "page number, from 1")),
)
SEARCH_MEMORY = Tool(
    "search_memory", "Look up what the user asked to be remembered.", _parameters(query=("string", "what about"))
)
WEB_SEARCH = Tool(
    "web_search",
    "Search the web. What it finds is shown to the user as such and is no source about the documents.",
    _parameters(query=("string", "what to look for; nothing of the documents' text")),
)


class Tools:
    """The tools that a model can call. Thread-safe."""

    def __init__(self, settings: WebSettings, *, catalog: Catalog, retrieval: Retrieval, memories: Memories) -> None:
        self._settings, self._catalog, self._retrieval, self._memories = settings, catalog, retrieval, memories

    def offered(self, state: State) -> tuple[Tool, ...]:
        """Return the tools of this question: web search only where it is set up and the user agreed."""
        may_web = self._settings.provider != "off" and state["question"]["web"]
        return (SEARCH, OPEN_PAGE, SEARCH_MEMORY, *((WEB_SEARCH,) if may_web else ()))

    def run(self, call: ToolCall, state: State, context: RunContext) -> str:
        """Run a call and return its result as text for the model, or what is wrong with the call."""
        doing: dict[str, Callable[[ToolCall, State, RunContext], str]] = {
            SEARCH.name: self._search,
            OPEN_PAGE.name: self._open_page,
            SEARCH_MEMORY.name: self._search_memory,
            WEB_SEARCH.name: self._web_search,
        }
        if call.name not in {tool.name for tool in self.offered(state)}:
            return f"There is no tool {call.name[:40]!r}. There are: " + ", ".join(t.name for t in self.offered(state))
        return doing[call.name](call, state, context)

    def _search(self, call: ToolCall, state: State, context: RunContext) -> str:
        query = _text(call, "query")
        if not query:
            return "The query is empty."
        found = self._retrieval.search(query, state["question"], filters_of(state["question"]["filters"]))
        more = self._retrieval.widen(context, found.hits)
        context.found += [passage.hit for passage in more]
        known = {hit.page_id for hit in context.looks}
        looks = [hit for hit in found.looks if hit.page_id not in known]
        context.looks += looks
        context.found += looks
        told = [shown(more, _RESULT_TOKENS)] if more else []
        if looks:
            told.append(f"The user is shown, found by their look: {', '.join(_place(hit) for hit in looks)}.")
        return "\n".join(told) or "Nothing that was not there before."

    def _open_page(self, call: ToolCall, state: State, context: RunContext) -> str:
        name, number = _text(call, "document"), call.arguments.get("page")
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= 1_000_000:
            return "The page is a number from 1."
        filters = self._catalog.enclosed.widened(filters_of(state["question"]["filters"]))
        asked = self._catalog.asked(filters.snapshots)
        matches = [i for i in asked if name and name in (i.document, i.doc_id, i.title)]
        named = [i for i in matches if not filters.doc_ids or i.doc_id in filters.doc_ids]
        if not named:
            return "There is no document of that name among those the user asks about."
        hit = self._retrieval.page_hit(named[0].doc_id, number)
        if hit is None:
            return f"It has {named[0].pages} pages."
        self._retrieval.widen(context, [hit])
        context.found.append(hit)
        return f"Page {number}, {page_id_of(hit.doc_id, number)}:\n{hit.text[:_PAGE_CHARACTERS]}"

    def _search_memory(self, call: ToolCall, state: State, context: RunContext) -> str:
        known = self._memories.recall(_text(call, "query"), thread_id=context.thread_id)
        return "\n".join(f"- {memory.text}" for memory in known.memories) or "Nothing about that is remembered."

    def _web_search(self, call: ToolCall, state: State, context: RunContext) -> str:
        query = _text(call, "query")
        if not query:
            return "The query is empty."
        try:
            web = search_web(self._settings)
            results = web.search(query) if web is not None else ()
        except (ConfigError, WebSearchError) as error:
            context.degraded.append(Degraded("web search", str(error)))
            return _("The web could not be searched: {error}").format(error=error)
        context.web += [result for result in results if result not in context.web]
        told = "\n".join(f"- {result.title}: {result.excerpt} ({result.url})" for result in results)
        return told[: int(_RESULT_TOKENS * 3.5)] or "Nothing was found."


def _place(hit: PageHit) -> str:
    return f"page {hit.page_no} of {named(hit.document)}"


def _text(call: ToolCall, name: str) -> str:
    value = call.arguments.get(name)
    return " ".join(value.split())[:_LONGEST_QUERY] if isinstance(value, str) else ""


Next = Literal["tools", "agent", "answer", "verify"]

_STEP_CALLS = 4  # per step; further calls are dropped


class Loop:
    """The two nodes of the agent loop. Thread-safe: the messages of a run are in its `RunContext`."""

    def __init__(self, settings: Settings, *, steps: Steps, tools: Tools, images: PageImages) -> None:
        self._settings, self._limits = settings.llm, settings.agent
        self._steps, self._tools, self._images = steps, tools, images

    def agent(self, state: State, runtime: Runtime[RunContext]) -> Command[Next]:
        """Run one step of the model, which gives tool calls or the answer.

        A model that cannot call tools answers as in answer mode.
        """
        context = runtime.context
        model = context.model
        assert model is not None
        if model.info.is_tool_calling is False:
            return self._as_usual(context, _("the language model in use cannot call tools"))
        if not context.messages:
            context.messages = self._steps.messages(state, context, is_agent=True)
        context.report("writing", restart=True)
        at = time.perf_counter()
        try:
            text, calls = self._sighted_step(model, state, context)
        except LanguageModelError as error:
            context.lasted("write", at)
            if context.steps == 0 and model.info.is_tool_calling is None:  # perhaps it refuses only the tools
                return self._as_usual(context, _("the language model refused tools: {error}").format(error=error))
            return _end(context, "", model, [str(error), error.hint])
        context.lasted("write", at)
        if not calls or context.stop():
            return _end(context, text, model, [])
        context.messages.append(Message("assistant", text, calls=tuple(calls)))
        return Command(goto="tools")

    def tools(self, state: State, runtime: Runtime[RunContext]) -> Command[Next]:
        """Run the tool calls of the last step."""
        context = runtime.context
        context.report("searching", restart=True)
        at = time.perf_counter()
        for call in context.messages[-1].calls:
            done = "Stopped." if context.stop() else self._tools.run(call, state, context)
            context.messages.append(Message("tool", done, call_id=call.call_id))
        context.messages += self._pictures(context)
        context.steps += 1
        context.lasted("tools", at)
        return Command(goto="agent")

    def _pictures(self, context: RunContext) -> list[Message]:
        """Return the message with images of the pages that tools found; a tool's own answer is text."""
        assert context.model is not None
        room = room_of(self._settings, context.model.info.context_tokens)
        numbered = self._images.attach_further(context, room)
        if not numbered:
            return []
        listed = "; ".join(f"image {number} is {picture.label}" for number, picture in numbered)
        attached = tuple(picture.jpeg for _unused, picture in numbered)
        return [Message("user", f"Attached images of pages that were found: {listed}.{SEES}", images=attached)]

    def _sighted_step(self, model: ChatModel, state: State, context: RunContext) -> tuple[str, list[ToolCall]]:
        """Run a step; where the model refuses page images, run it again without them."""
        try:
            return self._step(model, state, context)
        except ImagesRefusedError as error:
            blind(context, error)
            first = self._steps.messages(state, context, is_agent=True)
            context.messages = [*first, *(one for one in context.messages[len(first) :] if not one.images)]
            return self._step(model, state, context)

    def _step(self, model: ChatModel, state: State, context: RunContext) -> tuple[str, list[ToolCall]]:
        tools = self._tools.offered(state)
        if self._is_spent(context):
            context.messages.append(Message("user", "Answer now, with what you have."))
            tools = ()
        text: list[str] = []
        calls: list[ToolCall] = []
        for piece in (
            model.step(context.messages, tools, context.stop) if tools else model.stream(context.messages, context.stop)
        ):
            if isinstance(piece, ToolCall):
                calls.append(piece)
            else:
                text.append(piece)
                context.report("writing", piece)
        written = "".join(text)
        context.written_tokens += tokens_of(written) + sum(
            tokens_of(json.dumps(c.arguments, default=str)) for c in calls
        )
        return written, calls[:_STEP_CALLS]

    def _is_spent(self, context: RunContext) -> bool:
        spent = (
            "steps" if context.steps >= self._limits.max_steps
            else "seconds" if time.perf_counter() - context.started >= self._limits.max_seconds
            else "tokens" if context.written_tokens >= self._limits.max_tokens
            else ""
        )  # fmt: skip
        if spent:
            context.degraded.append(Degraded("agent mode", _("the limit of {spent} was reached").format(spent=spent)))
        return bool(spent)

    def _as_usual(self, context: RunContext, why: str) -> Command[Next]:
        context.degraded.append(Degraded("agent mode", why))
        return Command(goto="answer")


def _end(context: RunContext, text: str, model: ChatModel, failure: list[str]) -> Command[Next]:
    return Command(update={"written": written_of(text, model.info.name, context, failure)}, goto="verify")
