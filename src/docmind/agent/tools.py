"""What a tool-calling model may do: search again, open a page, look into memory, and, where the user agreed, the web.

Arguments come from a model and results from documents: the first are checked, the second are quoted. Pictures and
paths are never shown to a model.
"""

from __future__ import annotations

from collections.abc import Callable

from docmind.agent.course import Course, Means
from docmind.agent.prompts import shown
from docmind.agent.state import State, filters_of
from docmind.agent.steps import Steps
from docmind.errors import ConfigError, WebSearchError
from docmind.llm.contract import Tool, ToolCall
from docmind.schema import Degraded, page_id_of

_RESULT_TOKENS = 1_500  # of one tool's answer
_PAGE_CHARACTERS = 5_000
_LONGEST_QUERY = 1_000


def _parameters(**described: tuple[str, str]) -> dict:
    properties = {name: {"type": kind, "description": told} for name, (kind, told) in described.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


SEARCH = Tool(
    "multimodal_search",
    "Search all of the user's documents, in words, for passages. Use other words than before.",
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
    """Runs what a model calls for. Safe from any thread."""

    def __init__(self, means: Means, steps: Steps) -> None:
        self._means, self._steps = means, steps

    def offered(self, state: State) -> tuple[Tool, ...]:
        """The tools of this question: the web only where it is set up and the user agreed."""
        may_web = self._means.web is not None and state["question"]["web"]
        return (SEARCH, OPEN_PAGE, SEARCH_MEMORY, *((WEB_SEARCH,) if may_web else ()))

    def run(self, call: ToolCall, state: State, course: Course) -> str:
        """What a call gives, in words for the model; what is wrong with it where it cannot be done."""
        doing: dict[str, Callable[[ToolCall, State, Course], str]] = {
            SEARCH.name: self._search,
            OPEN_PAGE.name: self._open_page,
            SEARCH_MEMORY.name: self._search_memory,
            WEB_SEARCH.name: self._web_search,
        }
        if call.name not in {tool.name for tool in self.offered(state)}:
            return f"There is no tool {call.name[:40]!r}. There are: " + ", ".join(t.name for t in self.offered(state))
        return doing[call.name](call, state, course)

    def _search(self, call: ToolCall, state: State, course: Course) -> str:
        query = _text(call, "query")
        if not query:
            return "The query is empty."
        filters = filters_of(state["question"]["filters"])
        found = self._means.search(query, k=state["question"]["k"], filters=filters)
        more = self._steps.widen(course, found.hits)
        return shown(more, _RESULT_TOKENS) if more else "Nothing that was not there before."

    def _open_page(self, call: ToolCall, state: State, course: Course) -> str:
        name, number = _text(call, "document"), call.arguments.get("page")
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= 1_000_000:
            return "The page is a number from 1."
        within = filters_of(state["question"]["filters"]).doc_ids
        matches = [i for i in self._means.catalog.documents() if name and name in (i.document, i.doc_id, i.title)]
        named = [i for i in matches if not within or i.doc_id in within]
        if not named:
            return "There is no document of that name among those the user asks about."
        hit = self._steps.page_hit(named[0].doc_id, number)
        if hit is None:
            return f"It has {named[0].pages} pages."
        self._steps.widen(course, [hit])
        return f"Page {number}, {page_id_of(hit.doc_id, number)}:\n{hit.text[:_PAGE_CHARACTERS]}"

    def _search_memory(self, call: ToolCall, state: State, course: Course) -> str:
        known = self._means.recall(_text(call, "query"), course.thread_id)
        return "\n".join(f"- {memory.text}" for memory in known.memories) or "Nothing about that is remembered."

    def _web_search(self, call: ToolCall, state: State, course: Course) -> str:
        query = _text(call, "query")
        assert self._means.web is not None
        if not query:
            return "The query is empty."
        try:
            results = self._means.web(query)
        except (ConfigError, WebSearchError) as error:
            course.degraded.append(Degraded("web search", str(error)))
            return f"The web could not be searched: {error}"
        course.web += [result for result in results if result not in course.web]
        told = "\n".join(f"- {result.title}: {result.excerpt} ({result.url})" for result in results)
        return told[: int(_RESULT_TOKENS * 3.5)] or "Nothing was found."


def _text(call: ToolCall, name: str) -> str:
    value = call.arguments.get(name)
    return " ".join(value.split())[:_LONGEST_QUERY] if isinstance(value, str) else ""
