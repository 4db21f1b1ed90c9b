"""Agent mode: a tool-calling model and its tools in turns, bounded in steps, time and tokens."""

from __future__ import annotations

import json
import time
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from docmind.agent.course import Course, Means
from docmind.agent.prompts import tokens_of
from docmind.agent.state import State
from docmind.agent.steps import Steps, written_of
from docmind.agent.tools import Tools
from docmind.errors import LanguageModelError
from docmind.llm.contract import ChatModel, Message, ToolCall
from docmind.schema import Degraded

Next = Literal["tools", "agent", "answer", "verify"]

_STEP_CALLS = 4  # of one step; a model that asks for more gets the first ones


class Loop:
    """The two steps of the loop. Safe from any thread: the messages of a run are in its `Course`."""

    def __init__(self, means: Means, steps: Steps) -> None:
        self._limits, self._steps, self._tools = means.settings.agent, steps, Tools(means, steps)

    def agent(self, state: State, runtime: Runtime[Course]) -> Command[Next]:
        """One step of the model: calls, or the answer. A model that cannot call tools answers in the usual way."""
        course = runtime.context
        model = course.model
        if model is None or model.info.is_tool_calling is False:
            return self._as_usual(
                course, "the language model in use cannot call tools" if model else "there is no language model"
            )
        if not course.messages:
            course.messages = self._steps.messages(state, course, is_agent=True)
        course.tell("writing", anew=True)
        at = time.perf_counter()
        try:
            text, calls = self._step(model, state, course)
        except LanguageModelError as error:
            course.lasted("write", at)
            if course.steps == 0 and model.info.is_tool_calling is None:  # it may only be the tools that it refuses
                return self._as_usual(course, f"the language model refused tools: {error}")
            return _end(course, "", model, [str(error), error.hint])
        course.lasted("write", at)
        if not calls or course.stop():
            return _end(course, text, model, [])
        course.messages.append(Message("assistant", text, calls=tuple(calls)))
        return Command(goto="tools")

    def tools(self, state: State, runtime: Runtime[Course]) -> Command[Next]:
        """Do what the last step called for."""
        course = runtime.context
        course.tell("searching", anew=True)
        at = time.perf_counter()
        for call in course.messages[-1].calls:
            done = "Stopped." if course.stop() else self._tools.run(call, state, course)
            course.messages.append(Message("tool", done, call_id=call.call_id))
        course.steps += 1
        course.lasted("tools", at)
        return Command(goto="agent")

    def _step(self, model: ChatModel, state: State, course: Course) -> tuple[str, list[ToolCall]]:
        tools = self._tools.offered(state)
        if self._is_spent(course):
            course.messages.append(Message("user", "Answer now, with what you have."))
            tools = ()
        text: list[str] = []
        calls: list[ToolCall] = []
        for piece in (
            model.step(course.messages, tools, course.stop) if tools else model.stream(course.messages, course.stop)
        ):
            if isinstance(piece, ToolCall):
                calls.append(piece)
            else:
                text.append(piece)
                course.tell("writing", piece)
        written = "".join(text)
        course.written_tokens += tokens_of(written) + sum(
            tokens_of(json.dumps(c.arguments, default=str)) for c in calls
        )
        return written, calls[:_STEP_CALLS]

    def _is_spent(self, course: Course) -> bool:
        spent = (
            "steps" if course.steps >= self._limits.max_steps
            else "seconds" if time.perf_counter() - course.started >= self._limits.max_seconds
            else "tokens" if course.written_tokens >= self._limits.max_tokens
            else ""
        )  # fmt: skip
        if spent:
            course.degraded.append(
                Degraded("agent mode", f"the limit of {spent} was reached, and the answer asked for")
            )
        return bool(spent)

    def _as_usual(self, course: Course, why: str) -> Command[Next]:
        course.degraded.append(Degraded("agent mode", why))
        return Command(goto="answer")


def _end(course: Course, text: str, model: ChatModel, failure: list[str]) -> Command[Next]:
    is_stopped = course.stop()
    written = written_of(text, model.info.name, is_stopped=is_stopped, failure=failure, web=course.web)
    return Command(update={"written": written}, goto="verify")
