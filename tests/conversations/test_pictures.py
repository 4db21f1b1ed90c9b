"""Page images that go with a question: which ones, how large, where they may go, and what rests on them.

Over a real vault; the images are checked by a test server that speaks both protocols.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from desks import OneModel, report, settings_in
from docmind.application import DocMind
from docmind.config import LLMSettings
from docmind.conversations.pictures import choose, pictures_of
from docmind.errors import EndpointRefusedError, ImagesRefusedError, NotFoundError
from docmind.llm import ToolCall
from docmind.llm.client import ServedModel
from docmind.records.answers import Answer
from docmind.records.conversations import ModelInfo
from docmind.records.query import Query
from docmind.records.search import PageHit
from docmind.storage.keys import open_keys
from docmind_testkit import FakeChatModel
from llm_server import Behaviour, LLMServer, images_of, serving, text_of
from looking import album, looking_in
from pagereader import count

RED = "Which page is red?"
HERONS = "How many herons does the spring report count?"
IN_TEXT = "The spring report, page 1, counts 37 herons"
NOT_IN_TEXT = "A large lighthouse stands on the left."
SIDE = 320  # the pages of these tests are 400 pixels long
SEEING = LLMSettings(image_side_px=SIDE)
ABLE = ModelInfo("ollama", "http://127.0.0.1:11434", "fake-vl", is_tool_calling=True, takes_images=True)


def opened(folder: Path, llm: LLMSettings = SEEING) -> DocMind:
    """Open a vault with the fake image model in use; its language model is the one that a test puts in."""
    settings = looking_in(folder, late_model="off").model_copy(update={"llm": llm})
    return DocMind(settings, models=OneModel())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    with opened(folder) as mind:
        mind.add([album("colours", "red", "green", "blue", "yellow", "brown"), report("spring", 3, box="")])
        assert mind.visual.embed("fake-image").pages_failed == 0
    return folder


@pytest.fixture(scope="module")
def shared(folder: Path) -> Iterator[DocMind]:
    with opened(folder) as mind:
        yield mind


@pytest.fixture
def mind(shared: DocMind) -> Iterator[DocMind]:
    yield shared
    assert isinstance(shared.models, OneModel)
    shared.models.model = None


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with serving() as one:
        yield one


@pytest.fixture(params=["ollama", "openai"])
def info(request: pytest.FixtureRequest, server: LLMServer) -> ModelInfo:
    path = "/v1" if request.param == "openai" else ""
    return ModelInfo(request.param, f"{server.url}{path}", "llama3.2:3b", True, takes_images=True)


def asked(mind: DocMind, model: Any, question: str, **more: Any) -> Answer:
    assert isinstance(mind.models, OneModel)
    mind.models.model = model
    turn = mind.conversations.ask(Query(question, **more), thread_id=mind.conversations.create().thread_id)
    assert turn.answer is not None
    return turn.answer


def sizes(images: list[tuple[str, bytes]]) -> list[tuple[int, int]]:
    """Return width and height of each image; each must be a JPEG file, and called so."""
    found = []
    for media_type, data in images:
        assert media_type == "image/jpeg"
        picture = Image.open(io.BytesIO(data))
        picture.load()
        assert picture.format == "JPEG"
        found.append(picture.size)
    return found


def ranked(*pages: int, document: str = "d") -> list[PageHit]:
    return [
        PageHit(
            rank=at, score=1.0, document=f"{document}.pdf", doc_id=document, page_no=page, page_id=f"{document}{page}",
            page_width=100, page_height=100,
        )
        for at, page in enumerate(pages, 1)
    ]  # fmt: skip


def chosen(first: list[PageHit], looks: list[PageHit], count: int) -> list[tuple[str, int]]:
    return [(hit.doc_id, hit.page_no) for hit in choose(first, looks, count)]


# --- which pages ------------------------------------------------------------------------------------------------------


def test_the_first_sources_come_first_each_page_once() -> None:
    assert chosen(ranked(3, 3, 1, 2), [], 2) == [("d", 3), ("d", 1)]
    assert chosen(ranked(3), [], 4) == [("d", 3)]
    assert chosen([], [], 2) == []


def test_a_page_found_by_its_look_alone_has_a_place() -> None:
    looks = ranked(7, 8, document="album")
    assert chosen(ranked(3, 1, 2), looks, 2) == [("d", 3), ("album", 7)]
    assert chosen(ranked(3, 1, 2), looks, 1) == [("album", 7)]
    assert chosen(ranked(3), looks, 4) == [("d", 3), ("album", 7), ("album", 8)]
    assert chosen(ranked(3, 1), ranked(1), 2) == [("d", 3), ("d", 1)]


@pytest.mark.slow
def test_images_take_half_of_the_room_and_deleted_pages_none(mind: DocMind) -> None:
    found = mind.search(Query(HERONS, k=3))
    catalog, artifacts = mind.vault.catalog, mind.vault.artifacts
    records = catalog.pages((hit.doc_id, hit.page_no) for hit in found.hits)
    pictures, degraded = pictures_of(found.hits, records, artifacts.get, side=SIDE, room=100_000)
    assert len(pictures) == 3
    assert degraded == []
    assert all(len(picture.jpeg) > 500 and "jpeg" not in repr(picture) for picture in pictures)
    cost = pictures[0].tokens
    assert 80 < cost < 200
    few, told = pictures_of(found.hits, records, artifacts.get, side=SIDE, room=4 * cost)
    assert few == pictures[:2]
    assert "room for 2 of 3" in told[0].reason
    records.pop((found.hits[0].doc_id, found.hits[0].page_no))
    assert pictures_of(found.hits, records, artifacts.get, side=SIDE, room=100_000)[0] == pictures[1:]

    def gone(ref: object) -> bytes:
        raise NotFoundError("It is gone.")

    assert pictures_of(found.hits, records, gone, side=SIDE, room=100_000) == ([], [])


# --- what a server gets -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_images_arrive_in_order_in_size_and_in_form(mind: DocMind, server: LLMServer, info: ModelInfo) -> None:
    answer = asked(mind, ServedModel(info, SEEING), HERONS)
    (request,) = server.asked()
    images = images_of(request.body)
    assert len(images) == SEEING.images == 2
    assert [max(size) for size in sizes(images)] == [SIDE, SIDE]
    last = request.body["messages"][-1]
    listed = text_of(last).partition("Attached images of pages: ")[2].partition(".\n")[0]
    pages = [named.partition(" is page ")[2].partition(" of ")[0] for named in listed.split("; ")]
    hits = mind.search(HERONS).hits
    assert pages == [str(hit.page_no) for hit in hits[:2]]
    for (_, data), hit in zip(images, hits, strict=False):
        whole = Image.open(io.BytesIO(mind.documents.page_image(hit.doc_id, hit.page_no))).convert("L")
        seen = Image.open(io.BytesIO(data)).convert("L")
        assert max(whole.size) > SIDE
        apart = [abs(a - b) for a, b in zip(seen.tobytes(), whole.resize(seen.size).tobytes(), strict=True)]
        assert sum(apart) / len(apart) < 4  # it is this page, and nothing is drawn on it
    assert "in brackets, such as [image 1]" in request.body["messages"][0]["content"]
    assert answer.model
    assert "page images" in dict(answer.timings_ms)


@pytest.mark.slow
def test_a_page_without_words_can_be_asked_about(mind: DocMind, server: LLMServer, info: ModelInfo) -> None:
    server.queue(Behaviour(text=f"{NOT_IN_TEXT} [image 2] The whole page is red [image 2]."))
    answer = asked(mind, ServedModel(info, SEEING), RED)
    request = server.asked()[0]
    assert sizes(images_of(request.body))[1] == (200, 280)  # smaller than the limit: left as it is
    assert 'image 2 is page 1 of "colours.tiff"' in text_of(request.body["messages"][-1])
    assert answer.answer == f"{NOT_IN_TEXT} [1] The whole page is red. [1]"
    assert [(sentence.seen, sentence.supported, sentence.sources) for sentence in answer.sentences] == [
        (True, False, (1,)),
        (True, False, (1,)),
    ]
    (source,) = answer.sources
    assert (source.document, source.page_no, source.kind, source.quote) == ("colours.tiff", 1, "seen", "")
    assert mind.conversations.source_image(source)[8:12] == b"WEBP"
    assert answer.thread_id is not None
    kept = mind.conversations.view(answer.thread_id).turns[-1].answer
    assert kept is not None
    assert (kept.sentences, kept.sources) == (answer.sentences, answer.sources)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "told"),
    [
        (400, '{"error": {"message": "this endpoint takes text only"}}'),
        (500, '{"error": {"message": "image input is not supported - hint: you may need to provide the mmproj"}}'),
    ],
)
def test_a_model_that_refuses_images_is_asked_without_them(
    mind: DocMind, server: LLMServer, info: ModelInfo, status: int, told: str
) -> None:
    server.queue(*[Behaviour("blind", f"{IN_TEXT}. {NOT_IN_TEXT} [image 1]", status=status, body=told)] * 2)
    answer = asked(mind, ServedModel(info, SEEING), HERONS)
    first, second = server.asked()
    assert len(images_of(first.body)) == 2
    assert images_of(second.body) == []
    assert "ttached" not in str(second.body["messages"])
    (part,) = [part for part in answer.degraded if part.stage == "page images"]
    assert "refuses images" in part.reason
    assert part.reason.endswith("The question was sent again without them.")
    assert [sentence.supported for sentence in answer.sentences] == [True, False]
    assert not any(sentence.seen for sentence in answer.sentences)
    assert {source.kind for source in answer.sources} == {"quote"}


@pytest.mark.slow
def test_another_refusal_is_no_refusal_of_images(mind: DocMind, server: LLMServer, info: ModelInfo) -> None:
    server.queue(Behaviour("status", status=429, body="slow down"))
    answer = asked(mind, ServedModel(info, SEEING), HERONS)
    assert len(server.asked()) == 1
    assert answer.model == ""
    assert [part.stage for part in answer.degraded] == ["language model"]


@pytest.mark.slow
def test_none_go_where_none_are_wanted_or_known_to_be_accepted(tmp_path: Path, folder: Path, server: LLMServer) -> None:
    del tmp_path
    for llm, takes in ((LLMSettings(images=0), True), (SEEING, False), (SEEING, None)):
        info = ModelInfo("ollama", server.url, "llama3.2:3b", True, takes_images=takes)
        with opened_again(folder, llm) as mind:
            asked(mind, ServedModel(info, llm), HERONS)
        assert images_of(server.asked()[-1].body) == []
        assert "ttached" not in str(server.asked()[-1].body["messages"])
    assert len(server.asked()) == 3


def opened_again(folder: Path, llm: LLMSettings) -> DocMind:
    """Open a small vault of its own: the shared one is open."""
    mind = DocMind(settings_in(folder / "other", llm=llm), models=OneModel())
    mind.add([report("spring", 2, box="")])
    return mind


@pytest.mark.slow
def test_a_foreign_host_without_permission_gets_nothing(mind: DocMind, server: LLMServer) -> None:
    asked_for: list[str] = []

    def resolve(host: str, port: int) -> Any:
        asked_for.append(host)
        raise AssertionError(f"{host}:{port} was looked up")

    info = ModelInfo("ollama", f"http://models.example:{server.port}", "far", True, is_remote=True, takes_images=True)
    answer = asked(mind, ServedModel(info, SEEING, resolve=resolve), HERONS)
    assert answer.model == ""
    assert any("models.example" in part.reason for part in answer.degraded)
    assert (server.received, asked_for) == ([], [])
    with pytest.raises(EndpointRefusedError):
        list(ServedModel(info, SEEING).stream((), lambda: False))


@pytest.mark.slow
def test_no_image_is_stored_with_a_conversation(tmp_path: Path) -> None:
    """Neither as bytes nor as base64, in whatever part of the database, live or deleted, and not in its log."""
    settings = settings_in(tmp_path, llm=SEEING)
    with serving() as server:
        info = ModelInfo("openai", f"{server.url}/v1", "llama3.2:3b", True, takes_images=True)
        with DocMind(settings, models=OneModel()) as mind:
            mind.add([report("spring", 3, box="")])
            for more in ({}, {"mode": "agent"}):
                asked(mind, ServedModel(info, SEEING), HERONS, **more)
            key = open_keys(settings.data_dir, settings.keys).keyset.db_key
            path = settings.data_dir / "vault.db"
            images = [data for request in server.asked() for _, data in images_of(request.body)]
            assert len(images) == 4
            assert sum(count(path, key, "herons")) > 4
            for data in images:
                assert count(path, key, base64.b64encode(data[:36]).decode()) == (0, 0)
                assert count(path, key, base64.b64encode(data[600:636]).decode()) == (0, 0)
            for word in ("JFIF", "base64", "data:image", "/9j/4AAQ"):
                assert count(path, key, word) == (0, 0), word
        assert count(path, key, "JFIF") == (0, 0)


# --- what rests on an image -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_only_what_no_text_says_and_a_sent_image_is_cited_for_is_seen(mind: DocMind) -> None:
    told = (
        f"{IN_TEXT} [image 1]. {NOT_IN_TEXT} [image 2] A second lighthouse was built in 1987. "
        "A third one is green [image 3]. Here is a summary: [image 1]"
    )
    answer = asked(mind, FakeChatModel(told, info=ABLE), HERONS)
    kinds = [(sentence.supported, sentence.seen) for sentence in answer.sentences]
    assert kinds == [(True, False), (False, True), (False, False), (False, False), (False, False)]
    assert [source.kind for source in answer.sources] == ["quote", "seen"]
    seen = answer.sources[1]
    second = mind.search(HERONS).hits[1]
    assert (seen.page_id, seen.boxes, seen.quote) == (second.page_id, (), "")
    assert "[image 3]" in answer.answer  # an image that was not sent is only words


@pytest.mark.slow
def test_without_images_a_mark_of_one_is_only_words(mind: DocMind) -> None:
    answer = asked(mind, FakeChatModel(f"{NOT_IN_TEXT} [image 1]"), HERONS).other
    assert answer is not None
    assert not any(sentence.seen for sentence in answer.sentences)
    assert {source.kind for source in answer.sources} <= {"look"}


@pytest.mark.slow
def test_an_agent_sees_the_pages_and_goes_on_without_them(mind: DocMind) -> None:
    look = ToolCall("1", "search_memory", {"query": "herons"})
    model = FakeChatModel(look, f"{NOT_IN_TEXT} [image 1]", info=ABLE)
    answer = asked(mind, model, HERONS, mode="agent")
    assert [len(message.images) for message in model.received[0]] == [0, 2]
    assert [message.images for message in model.received[1]][:2] == [message.images for message in model.received[0]]
    assert answer.sentences[0].seen
    refusing = FakeChatModel(ImagesRefusedError("It refuses images."), look, f"{IN_TEXT}.", info=ABLE)
    answer = asked(mind, refusing, HERONS, mode="agent")
    assert [sum(len(message.images) for message in messages) for messages in refusing.received] == [2, 0, 0]
    assert answer.sentences[0].supported
    assert [part.stage for part in answer.degraded] == ["page images"]


@pytest.mark.slow
def test_images_of_pages_that_a_tool_found_follow_within_the_same_limits(mind: DocMind) -> None:
    opened = [ToolCall(str(page), "open_page", {"document": "colours.tiff", "page": page}) for page in (1, 2, 3, 4, 5)]
    model = FakeChatModel(*opened, f"{NOT_IN_TEXT} [image 4]", info=ABLE)
    answer = asked(mind, model, HERONS, mode="agent")
    sent = [[len(message.images) for message in messages if message.images] for messages in model.received]
    assert sent == [[2], [2, 1], [2, 1, 1], [2, 1, 1, 1], [2, 1, 1, 1, 1], [2, 1, 1, 1, 1, 1]]
    assert [message.role for message in model.received[1]][-2:] == ["tool", "user"]
    assert 'image 3 is page 1 of "colours.tiff"' in model.received[1][-1].text
    (source,) = [source for source in answer.sources if source.kind == "seen"]
    assert (source.document, source.page_no) == ("colours.tiff", 2)
    assert [sentence.seen for sentence in answer.sentences] == [True]
    found = ToolCall("1", "open_page", {"document": "colours.tiff", "page": 1})
    refusing = FakeChatModel(found, ImagesRefusedError("It refuses images."), f"{IN_TEXT}.", info=ABLE)
    answer = asked(mind, refusing, HERONS, mode="agent")
    assert [sum(len(message.images) for message in messages) for messages in refusing.received] == [2, 3, 0]
    assert answer.sentences[0].supported
