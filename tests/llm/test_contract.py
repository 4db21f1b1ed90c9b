"""One suite for every language model: the fake, Ollama, an OpenAI-compatible server, each over its real protocol."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from random import Random

import pytest

from docmind.config import LLMSettings
from docmind.errors import (
    EndpointRefusedError,
    ImagesRefusedError,
    LanguageModelBrokenError,
    LanguageModelDownError,
    LanguageModelError,
)
from docmind.llm.base import ChatModel, Message, Tool, ToolCall
from docmind.llm.client import ServedModel
from docmind.records.conversations import ModelInfo
from docmind_testkit import FakeChatModel
from llm_server import Behaviour, Kind, LLMServer, Model, images_of, serving, text_of
from sampled import tenth_of

ASK = (Message("system", "Be brief."), Message("user", "What was the revenue?"))
SEARCH = Tool("search", "Searches", {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})
PATIENT = LLMSettings(max_tokens=64)
HASTY = LLMSettings(first_token_s=0.8, stall_s=0.5, max_tokens=64)
HALF = "The revenue was 12 million"


def never() -> bool:
    return False


class Party:
    """A model and the way to make it answer."""

    def __init__(self, kind: str, server: LLMServer, settings: LLMSettings = PATIENT) -> None:
        self.server = server
        self.fake = FakeChatModel()
        path = "/v1" if kind == "openai" else ""
        info = ModelInfo("openai" if kind == "openai" else "ollama", f"{server.url}{path}", "llama3.2:3b", True)
        self.model: ChatModel = self.fake if kind == "fake" else ServedModel(info, settings)

    def replies(self, *behaviours: Behaviour) -> None:
        self.server.queue(*behaviours)
        for one in behaviours:
            calls = [ToolCall(f"call_{at}", name, arguments) for at, (name, arguments) in enumerate(one.calls)]
            failed = [LanguageModelBrokenError("It broke off.")] if one.kind == "cut" else []
            refused = [LanguageModelDownError("It refuses.")] if one.kind == "status" else []
            self.fake.queue([*refused, *(f"{word} " for word in one.text.split()), *calls, *failed])


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with serving(models=(Model("llama3.2:3b"),)) as one:
        yield one


@pytest.fixture(params=["fake", "ollama", "openai"])
def party(request: pytest.FixtureRequest, server: LLMServer) -> Party:
    return Party(request.param, server)


@pytest.fixture(params=["ollama", "openai"])
def served(request: pytest.FixtureRequest, server: LLMServer) -> Party:
    return Party(request.param, server)


@pytest.fixture(params=["ollama", "openai"])
def hasty(request: pytest.FixtureRequest, server: LLMServer) -> Party:
    return Party(request.param, server, HASTY)


def failing(party: Party, *kinds: Behaviour) -> tuple[LanguageModelError, str]:
    """Return the error that ends the stream, and the text that came before it."""
    party.server.queue(*kinds)
    came: list[str] = []
    with pytest.raises(LanguageModelError) as caught:
        came.extend(party.model.stream(ASK, never))
    told = str(caught.value)
    assert told.endswith(".")
    assert "\n" not in told
    assert len(told) < 300
    assert caught.value.hint
    return caught.value, "".join(came)


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pieces_make_the_answer(party: Party) -> None:
    party.replies(Behaviour(text=f"{HALF} — in São Paulo, €."))
    pieces = list(party.model.stream(ASK, never))
    assert len(pieces) > 3
    assert all(pieces)
    assert "".join(pieces).strip() == f"{HALF} — in São Paulo, €."


@pytest.mark.slow
def test_calls_come_after_the_text(party: Party) -> None:
    asked = (("search", {"q": "revenue of 2022"}), ("open_page", {"page": 3}))
    party.replies(Behaviour(text="Let me look.", calls=asked))
    parts = list(party.model.step(ASK, (SEARCH,), never))
    assert "".join(part for part in parts if isinstance(part, str)).strip() == "Let me look."
    calls = [part for part in parts if isinstance(part, ToolCall)]
    assert [(call.name, call.arguments) for call in calls] == list(asked)
    assert len({call.call_id for call in calls}) == 2
    assert parts[-2:] == calls


def test_a_step_may_call_without_a_word(party: Party) -> None:
    party.replies(Behaviour("calls", calls=(("search", {}),)))
    parts = list(party.model.step(ASK, (SEARCH,), never))
    assert [part.name for part in parts if isinstance(part, ToolCall)] == ["search"]


def test_a_stream_shows_no_calls(party: Party) -> None:
    party.replies(Behaviour(text="Plain words.", calls=(("search", {}),)))
    assert "".join(party.model.stream(ASK, never)).strip() == "Plain words."


def test_text_before_a_failure_stays_and_the_next_question_works(party: Party) -> None:
    party.replies(Behaviour("cut", text=HALF), Behaviour(text="Whole."))
    came: list[str] = []
    with pytest.raises(LanguageModelBrokenError):
        came.extend(party.model.stream(ASK, never))
    assert "".join(came).strip() == HALF
    assert "".join(party.model.stream(ASK, never)).strip() == "Whole."


def test_a_refusal_is_told_before_any_text(party: Party) -> None:
    party.replies(Behaviour("status", status=500))
    with pytest.raises(LanguageModelDownError):
        list(party.model.stream(ASK, never))


def test_stop_ends_the_stream_without_an_error(party: Party) -> None:
    party.replies(Behaviour(text="one two three four five"))
    read = 0

    def stop() -> bool:
        return read >= 2

    for _ in party.model.stream(ASK, stop):
        read += 1
    assert read == 2


def test_a_stop_before_the_start_shows_nothing(party: Party) -> None:
    party.replies(Behaviour(text="one two"))
    assert list(party.model.stream(ASK, lambda: True)) == []


def test_many_threads_may_ask_at_once(party: Party) -> None:
    texts = [f"answer {number} of them" for number in range(8)]
    party.replies(*(Behaviour(text=text) for text in texts))
    came: list[str] = []

    def ask() -> None:
        came.append("".join(party.model.stream(ASK, never)).strip())

    threads = [threading.Thread(target=ask) for _ in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(came) == texts


# --- the fake ---------------------------------------------------------------------------------------------------------


def test_the_fake_keeps_what_it_was_sent() -> None:
    fake = FakeChatModel("An answer of five words.", ToolCall("c", "search"), loop=True)
    assert list(fake.stream(ASK, never)) == ["An ", "answer ", "of ", "five ", "words."]
    assert list(fake.step(ASK, (SEARCH,), never)) == [ToolCall("c", "search")] == list(fake.step(ASK, (), never))
    assert fake.received == [ASK] * 3
    assert fake.offered == [(), (SEARCH,), ()]
    with pytest.raises(LookupError):
        list(FakeChatModel().stream(ASK, never))


def test_the_fake_stops_while_it_waits() -> None:
    started = time.monotonic()
    stopping = threading.Event()
    threading.Timer(0.1, stopping.set).start()
    assert list(FakeChatModel("late", delay_s=30).stream(ASK, stopping.is_set)) == []
    assert time.monotonic() - started < 10


# --- servers that behave badly ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["silent", "heartbeat"])
def test_a_server_that_does_not_begin_is_given_up(hasty: Party, kind: Kind) -> None:
    error, came = failing(hasty, Behaviour(kind, delay_s=0.05))
    assert isinstance(error, LanguageModelDownError)
    assert "didn't begin to answer within 0.8 seconds" in str(error)
    assert "DOCMIND_LLM__FIRST_TOKEN_S" in error.hint
    assert not came
    assert hasty.server.asked()[-1].was_closed.wait(5)  # the model need not go on for nobody


@pytest.mark.slow
def test_a_slow_first_token_is_waited_for(server: LLMServer, served: Party) -> None:
    served = Party(served.model.info.provider, server, LLMSettings(first_token_s=30, stall_s=0.2))
    served.server.queue(Behaviour(text="At last.", first_s=0.5))
    assert "".join(served.model.stream(ASK, never)) == "At last."


@pytest.mark.slow
def test_a_server_that_falls_silent_is_given_up(hasty: Party) -> None:
    error, came = failing(hasty, Behaviour("stall", HALF))
    assert isinstance(error, LanguageModelDownError)
    assert "stopped for 0.5 seconds" in str(error)
    assert "DOCMIND_LLM__STALL_S" in error.hint
    assert came == HALF
    assert hasty.server.asked()[-1].was_closed.wait(5)


@pytest.mark.parametrize("kind", ["cut", "reset", "unmarked"])
def test_an_answer_that_breaks_off_is_told(served: Party, kind: Kind) -> None:
    error, came = failing(served, Behaviour(kind, HALF))
    assert isinstance(error, LanguageModelBrokenError)
    assert "broke off in the middle of its answer" in str(error)
    assert came == HALF


@pytest.mark.parametrize(
    ("kind", "told"),
    [("bad_utf8", "isn't text"), ("bad_json", "can't be read"), ("odd_json", "can't be read")],
)
def test_bytes_that_are_no_answer_are_told(served: Party, kind: Kind, told: str) -> None:
    error, came = failing(served, Behaviour(kind, HALF))
    assert isinstance(error, LanguageModelBrokenError)
    assert told in str(error)
    assert came == HALF


def test_an_error_within_the_stream_is_quoted_in_one_line(served: Party) -> None:
    error, came = failing(served, Behaviour("error_line", HALF, body="out of\nmemory\u202e \x1b[31m" + "x" * 5_000))
    assert isinstance(error, LanguageModelBrokenError)
    assert "broke off: out of memory" in str(error)
    assert not {"\u202e", "\x1b"} & set(str(error))
    assert came == HALF


SEEN = (
    Message("system", "Be brief."),
    Message("user", "What is this?", images=(b"\xff\xd8\xff one", b"\xff\xd8\xff two")),
)


def test_images_go_with_their_message_in_order(served: Party) -> None:
    list(served.model.stream(SEEN, never))
    list(served.model.stream(ASK, never))
    first, second = served.server.asked()
    assert images_of(first.body) == [("image/jpeg", data) for data in SEEN[1].images]
    assert [text_of(message) for message in first.body["messages"]] == ["Be brief.", "What is this?"]
    assert "image" not in json.dumps(second.body)


@pytest.mark.parametrize(
    ("status", "body", "is_of_images"),
    [
        (400, "", True),
        (422, '{"detail": "unknown variant `image_url`, expected `text`"}', True),
        (500, '{"error": "this model does not support image input"}', True),
        (500, '{"error": "llama runner has terminated"}', False),
        (401, '{"error": "no key"}', False),
        (404, '{"error": "model \\"imagine\\" not found"}', False),
    ],
)
def test_a_refusal_of_images_is_an_error_of_its_own(served: Party, status: int, body: str, is_of_images: bool) -> None:
    served.server.queue(*[Behaviour("status", status=status, body=body)] * 2)
    with pytest.raises(LanguageModelError) as caught:
        list(served.model.stream(SEEN, never))
    assert isinstance(caught.value, ImagesRefusedError) == is_of_images
    assert "\n" not in str(caught.value)
    with pytest.raises(LanguageModelDownError):
        list(served.model.stream(ASK, never))


def test_images_are_refused_within_a_stream_before_its_first_word_only(served: Party) -> None:
    told = "this model is missing data required for image input"
    line = json.dumps({"error": told})
    body = f"{line}\n" if served.model.info.provider == "ollama" else f"data: {line}\n\n"
    served.server.queue(Behaviour("raw", body=body), Behaviour("error_line", HALF, body=told))
    with pytest.raises(ImagesRefusedError, match="missing data"):
        list(served.model.stream(SEEN, never))
    with pytest.raises(LanguageModelBrokenError, match="broke off"):
        list(served.model.stream(SEEN, never))


def test_an_answer_without_end_is_ended(served: Party) -> None:
    error, came = failing(served, Behaviour("endless"))
    assert isinstance(error, LanguageModelBrokenError)
    assert "64 tokens" in str(error)
    assert came.startswith("on and on on and on")
    assert len(came) < 2_000


def test_a_line_without_end_is_ended(served: Party) -> None:
    error, came = failing(served, Behaviour("endless_line"))
    assert isinstance(error, LanguageModelBrokenError)
    assert "doesn't end" in str(error)
    assert not came


@pytest.mark.parametrize("kind", ["page", "plain_json", "no_body"])
def test_what_is_no_stream_is_told(served: Party, kind: Kind) -> None:
    error, _ = failing(served, Behaviour(kind, HALF))
    assert isinstance(error, LanguageModelBrokenError)
    assert "doesn't answer like a language model" in str(error)


def test_an_empty_answer_is_told(served: Party) -> None:
    error, _ = failing(served, Behaviour("empty"))
    assert isinstance(error, LanguageModelBrokenError)
    assert "sent an empty answer" in str(error)


def test_a_body_that_says_it_is_packed_is_not_unpacked(served: Party) -> None:
    served.server.queue(Behaviour("gzip", "Plain after all."))
    assert "".join(served.model.stream(ASK, never)) == "Plain after all."
    assert served.server.asked()[-1].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("kind", ["thinking", "think_tags"])
def test_thoughts_are_not_shown(served: Party, kind: Kind) -> None:
    served.server.queue(Behaviour(kind, "It was 12 million."))
    assert "".join(served.model.stream(ASK, never)) == "It was 12 million."


@pytest.mark.parametrize(
    ("status", "body", "told", "hint"),
    [
        (404, '{"error": "model \'llama3.2:3b\' not found"}', "has no model llama3.2:3b", "Choose another model"),
        (404, '{"error": {"message": "The model `x` does not exist", "code": 404}}', "has no model", "Settings"),
        (404, "<html>nothing here</html>", "status 404.", ""),
        (500, '{"error": "graphics\\ncard"}', "status 500: graphics card.", "log"),
        (503, '{"detail": {"deep": 1}}', "status 503.", ""),
        (502, "[" * 50_000, "status 502", ""),
        (500, "x" * 200_000, "status 500: x", ""),
        (429, "too many\x1b[2J\n\n requests", "status 429: too many", "wait"),
        (401, "", "status 401.", "DOCMIND_LLM__API_KEY"),
        (400, '{"error": "llama3.2:3b does not support tools"}', "does not support tools", "agent mode"),
        (400, '{"error": {"message": "exceeds the available context size"}}', "context", "CONTEXT_TOKENS"),
        (204, "", "status 204.", ""),
    ],
)
def test_refusals_are_told_and_not_tried_again(served: Party, status: int, body: str, told: str, hint: str) -> None:
    error, _ = failing(served, Behaviour("status", status=status, body=body))
    assert isinstance(error, LanguageModelDownError)
    assert told in str(error)
    assert hint in error.hint
    assert len(served.server.asked()) == 1


@pytest.mark.slow
def test_mutated_streams_end_in_an_answer_or_a_sentence(served: Party) -> None:
    """Bytes turned, cut, doubled and swapped for other JSON: whatever the libraries make of it, nothing else comes."""
    told = {
        "ollama": b'{"model":"m","created_at":"2026-11-21T12:00:00Z","message":{"role":"assistant","content":"Hi ",'
        b'"tool_calls":[{"function":{"name":"search","arguments":{"q":"x"}}}]},"done":false}\n'
        b'{"model":"m","message":{"role":"assistant","content":"you"},"done":true,"done_reason":"stop","eval_count":2}\n',
        "openai": b'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi ","tool_calls":'
        b'[{"index":0,"id":"c","function":{"name":"search","arguments":"{}"}}]},"finish_reason":null}]}\n\n'
        b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"you"},"finish_reason":"stop"}]}\n\n'
        b"data: [DONE]\n\n",
    }[served.model.info.provider]
    junk = [
        b"null",
        b"[]",
        b"{}",
        b'""',
        b"-1e999",
        b"NaN",
        b"true",
        b'{"a":[',
        b"\n\n",
        b"\xff",
        b"9" * 400,
        b"\\ud800",
    ]
    outcomes: set[str] = set()
    told_lines: list[str] = []
    for number in tenth_of(range(250)):
        random = Random(number)
        raw = bytearray(told)
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(raw))
            until = min(len(raw), at + random.choice((0, 1, 1, 3, 20, 80)))
            raw[at:until] = random.choice((b"", bytes([random.randrange(256)]), raw[at:until] * 2, *junk))
        served.server.queue(Behaviour("raw", body=raw.decode("latin-1")))
        try:
            for part in served.model.step(ASK, (SEARCH,), never):
                text = part if isinstance(part, str) else f"{part.call_id} {part.name} {json.dumps(part.arguments)}"
                assert text.encode()
            outcomes.add("answer")
        except LanguageModelError as error:
            outcomes.add(type(error).__name__)
            told_lines.append(str(error))
    assert outcomes >= {"answer", "LanguageModelBrokenError"}
    assert not [line for line in told_lines if "\n" in line or len(line) > 300]


def test_redirects_are_refused(served: Party) -> None:
    with serving() as other:
        error, _ = failing(served, Behaviour("redirect", location=other.url))
        assert isinstance(error, EndpointRefusedError)
        assert not other.received


def test_a_server_that_is_gone_is_told(served: Party) -> None:
    served.server.shutdown()
    served.server.server_close()
    error, _ = failing(served)
    assert isinstance(error, LanguageModelDownError)
    assert "cannot be reached" in str(error)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["silent", "stall"])
def test_stop_hangs_up_while_the_server_is_silent(served: Party, kind: Kind) -> None:
    """The contract is 0.2 s; the limit here allows for a busy machine, far below the allowed silence."""
    served = Party(served.model.info.provider, served.server, LLMSettings(first_token_s=100, stall_s=100))
    served.server.queue(Behaviour(kind, HALF))
    stopping, ended = threading.Event(), []

    def read() -> None:
        came = "".join(served.model.stream(ASK, stopping.is_set))
        ended.append((time.monotonic(), came))

    thread = threading.Thread(target=read)
    thread.start()
    while not served.server.asked() or (kind == "stall" and not served.server.asked()[0].sent_ns):
        time.sleep(0.01)
    time.sleep(0.2)
    stopping.set()
    at = time.monotonic()
    thread.join(10)
    assert ended
    assert ended[0][0] - at < 2
    assert ended[0][1] == (HALF if kind == "stall" else "")
    assert served.server.asked()[-1].was_closed.wait(5)


def test_a_reader_that_walks_away_hangs_up(served: Party) -> None:
    served.server.queue(Behaviour("endless", delay_s=0.01))
    pieces = served.model.stream(ASK, never)
    assert next(iter(pieces))
    pieces.close()  # type: ignore[attr-defined]
    assert served.server.asked()[-1].was_closed.wait(5)


# --- what is sent -----------------------------------------------------------------------------------------------------


def test_what_is_sent(served: Party) -> None:
    call = ToolCall("call_7", "search", {"q": "revenue"})
    turns = (*ASK, Message("assistant", "", (call,)), Message("tool", "12 million", call_id="call_7"))
    list(served.model.step(turns, (SEARCH,), never))
    request = served.server.asked()[-1]
    body, roles = request.body, [one["role"] for one in request.body["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert body["model"] == "llama3.2:3b"
    assert body["stream"] is True
    assert body["tools"][0]["function"]["parameters"]["required"] == ["q"]
    sent = body["messages"][2]["tool_calls"][0]
    assert sent["function"]["name"] == "search"
    if served.model.info.provider == "ollama":
        assert body["options"] == {"temperature": 0.1, "num_ctx": 8192, "num_predict": 64}
        assert "keep_alive" not in body  # how long a model stays loaded is the server's setting
        assert sent["function"]["arguments"] == {"q": "revenue"}
    else:
        assert (body["temperature"], body["max_tokens"]) == (0.1, 64)
        assert sent["id"] == "call_7" == body["messages"][3]["tool_call_id"]
    assert set(request.headers) <= {
        "host", "user-agent", "accept-encoding", "connection", "accept", "content-type", "content-length",
    }  # fmt: skip


def test_text_that_cannot_be_stored_is_made_good(served: Party) -> None:
    """JSON can contain lone surrogates and control characters, in answers and in arguments."""
    served.server.queue(
        Behaviour(text="a\ud800b\x00\x1b c\U0001f600\n\td", calls=(("sea\udfffrch", {"q": "x\ud800"}),))
    )
    parts = list(served.model.step(ASK, (SEARCH,), never))
    assert "".join(part for part in parts if isinstance(part, str)) == "a\ufffdb c\U0001f600\n\td"
    assert [(part.name, part.arguments) for part in parts if isinstance(part, ToolCall)] == [
        ("sea\ufffdrch", {"q": "x\ufffd"})
    ]


@pytest.mark.parametrize("arguments", ['{"q": ', "[1, 2]", "null", "12", '{"q": NaN}'])
def test_calls_that_cannot_be_read_are_told(server: LLMServer, arguments: str) -> None:
    party = Party("openai", server)
    server.queue(Behaviour(calls=(("search", arguments),), text="So."))
    with pytest.raises(LanguageModelBrokenError):
        list(party.model.step(ASK, (SEARCH,), never))


def test_a_name_that_llama_index_does_not_ask_for_is_told(server: LLMServer) -> None:
    model = ServedModel(ModelInfo("openai", f"{server.url}/v1", "gpt-5.2-pro"), PATIENT)
    with pytest.raises(LanguageModelDownError, match=r"gpt-5\.2-pro"):
        list(model.stream(ASK, never))
    with pytest.raises(LanguageModelDownError, match=r"gpt-5\.2-pro"):
        model.warm()
    assert not server.received


def test_a_host_that_is_not_allowed_gets_nothing(server: LLMServer) -> None:
    info = ModelInfo("ollama", f"http://models.example:{server.port}", "m", is_remote=True)
    with pytest.raises(EndpointRefusedError, match="n't allowed"):
        list(ServedModel(info, PATIENT).stream(ASK, never))
    allowed = PATIENT.model_copy(update={"allowed_hosts": "models.example"})
    model = ServedModel(info, allowed, resolve=lambda host, port: ["127.0.0.1"])
    assert "".join(model.stream(ASK, never)) == "The documents do not say it."
    turned = ServedModel(info, allowed, resolve=lambda host, port: ["169.254.169.254"])
    with pytest.raises(EndpointRefusedError, match="never contacted"):
        list(turned.stream(ASK, never))
    assert len(server.asked()) == 1


def test_a_key_is_sent_as_it_should_be(server: LLMServer) -> None:
    for kind in ("ollama", "openai"):
        info = ModelInfo(kind, server.url + ("/v1" if kind == "openai" else ""), "m")
        list(ServedModel(info, PATIENT, key="k-1").stream(ASK, never))
        assert server.asked()[-1].headers["authorization"] == "Bearer k-1"
    info = ModelInfo("openai", "http://models.example/v1", "m", is_remote=True)
    allowed = PATIENT.model_copy(update={"allowed_hosts": "models.example"})
    with pytest.raises(EndpointRefusedError, match="unencrypted"):
        list(ServedModel(info, allowed, key="k-1").stream(ASK, never))
