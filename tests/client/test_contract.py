"""The contract of the facade: the same assertions over the owner and over a client of the open app.

Each chapter leaves the library as it found it: one document of two pages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from desks import environment_of, opened, text_pdf
from docmind.client import CALLS, connect
from docmind.errors import ConfigError, EmptyFileError, NotFoundError
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from served import Server

pytestmark = pytest.mark.slow
HERONS = text_pdf(["Herons wait in shallow water for fish.", "Herons nest in tall trees."])


def herons(docmind: Any) -> str:
    return docmind.documents.find("herons.pdf").doc_id


def over(talk: Any, run_id: str) -> None:
    """Wait until a run is over."""
    while not talk.run(run_id).is_over:
        time.sleep(0.02)


def looking(docmind: Any) -> None:
    assert docmind.documents.counts() == (1, 2, 2)
    assert docmind.status().documents == 1
    (info,) = docmind.documents.all()
    assert docmind.documents.get(info.doc_id) == docmind.documents.find("herons.pdf") == info
    assert docmind.documents.matching(Filters(kinds=("pdf",))) == (info,)
    assert docmind.documents.matching(Filters(kinds=("docx",))) == ()
    page = docmind.documents.page(info.doc_id, 2)
    assert (page.text, page.pages) == ("Herons nest in tall trees.", 2)
    assert docmind.documents.page_image(info.doc_id, 2)[8:12] == b"WEBP"
    assert docmind.documents.page_image(info.doc_id, 2, thumbnail=True) != docmind.documents.page_image(info.doc_id, 2)
    assert docmind.documents.original(info.doc_id) == HERONS
    assert docmind.documents.original_name(info.doc_id) == "herons.pdf"


def editing(docmind: Any) -> None:
    doc_id = herons(docmind)
    assert docmind.documents.edit(doc_id, title="Grey herons").title == "Grey herons"
    docmind.documents.edit(doc_id, title="")
    docmind.documents.tag([doc_id], add=["birds", "water"])
    assert docmind.documents.tags() == {"birds": 1, "water": 1}
    docmind.documents.tag([doc_id], remove=["birds", "water"])
    assert docmind.documents.tags() == {}
    docmind.documents.set_language([doc_id], "pt")
    assert docmind.documents.get(doc_id).language == "pt"
    docmind.documents.set_language([doc_id], "en")


def correcting(docmind: Any) -> None:
    doc_id, text = herons(docmind), "Herons nest in tall trees."
    page = docmind.documents.page_lines(doc_id, 2)
    assert [(line.n, line.text, line.source, line.grade) for line in page.lines] == [(1, text, "layer", "good")]
    assert page.lines[0].box is not None
    page = docmind.documents.correct_line(doc_id, 2, 1, "Herons nest in Quillonia.")
    assert (page.lines[0].text, page.lines[0].read) == ("Herons nest in Quillonia.", text)
    assert docmind.search(Query("Quillonia", k=1)).hits[0].page_no == 2
    assert [(one.page_no, one.by_hand) for one in docmind.documents.coverage(doc_id).noted] == [(2, 1)]
    with pytest.raises(ConfigError):
        docmind.documents.set_header_row(doc_id, 2, 1, is_header=True)
    assert docmind.documents.uncorrect_line(doc_id, 2, 1).lines[0].text == text
    assert docmind.documents.uncorrect_line(doc_id, 2, 0).unfit == ()


def the_bin(docmind: Any) -> None:
    (gone,) = docmind.documents.bin([herons(docmind)])
    assert docmind.documents.all() == ()
    assert docmind.documents.binned()[0].doc_id == gone.doc_id
    assert docmind.documents.bin_days == 30.0
    docmind.documents.restore([docmind.documents.find_binned("herons.pdf").doc_id])
    assert docmind.documents.counts() == (1, 2, 2)


def erasing(docmind: Any) -> None:
    before = len(docmind.erasures.receipts())
    (added,) = docmind.add([Upload("owls.txt", b"Owls hunt at night and swallow their prey whole.")])
    (receipt,) = docmind.erasures.erase([added.doc_id])
    assert receipt.is_clean
    assert len(docmind.erasures.receipts()) == before + 1
    with pytest.raises(NotFoundError):
        docmind.documents.get(added.doc_id)


def collections(docmind: Any) -> None:
    made = docmind.documents.new_collection("Birds")
    docmind.documents.collect(made.collection_id, [herons(docmind)])
    assert docmind.documents.collection("Birds").documents == 1
    assert docmind.search(Query("tall trees", filters=Filters(collections=(made.collection_id,)))).hits
    docmind.documents.collect(made.collection_id, [herons(docmind)], leave=True)
    docmind.documents.rename_collection(made.collection_id, "Waders")
    assert [one.name for one in docmind.documents.collections()] == ["Waders"]
    docmind.documents.remove_collection(made.collection_id)
    assert not docmind.documents.collections()


def the_queue(docmind: Any) -> None:
    results = docmind.add([Upload("herons.pdf", HERONS), Upload("empty.pdf", b"")])
    assert [(one.status, one.exit_code) for one in results] == [("already", 0), ("refused", EmptyFileError.exit_code)]
    for name in ("pause", "resume", "retry", "cancel"):
        assert list(getattr(docmind.queue, name)([987_654])) == []
    with pytest.raises(NotFoundError):
        docmind.queue.unlock(987_654, "password")
    docmind.queue.remove([one.upload_id for one in docmind.queue.uploads("failed")])
    assert not docmind.queue.uploads("failed")
    assert docmind.queue.counts().get("waiting", 0) == 0
    assert docmind.queue.progress().state == "idle"


def searching(docmind: Any) -> None:
    hit = docmind.search(Query("nest in tall trees", k=1)).hits[0]
    assert (hit.document, hit.page_no, hit.boxes[0].w > 0) == ("herons.pdf", 2, True)
    both = docmind.search(Query("shallow water", lists=("text",), limits={"text": 5}, k=1))
    assert [(one.page_no, one.source) for one in both.hits] == [(1, "text")]
    assert not docmind.search(Query("fish", filters=Filters(languages=("xx",)))).hits
    seen = docmind.search(Query(picture=docmind.documents.page_image(herons(docmind), 1), read_picture=False, k=2))
    assert (seen.found, seen.hits[0].page_no) == (True, 1)
    with pytest.raises(ConfigError) as error:
        docmind.search("  ")
    assert error.value.hint


def answers(docmind: Any) -> None:
    answer = docmind.ask("Where do herons nest?")
    assert (answer.found, answer.sources[0].page_no) == (True, 2)
    assert not docmind.ask("Who won the cup in 1998?").found
    checked = docmind.check("Herons nest in tall trees. Owls hunt at night.")
    assert [one.verdict for one in checked.sentences] == ["supported", "not found"]
    assert [source.page_no for source in checked.sentences[0].sources] == [2]
    found = docmind.find("heron", "mentions")
    assert [item.source.page_no for item in found.items] == [1, 2]
    assert found.listing.is_complete
    with pytest.raises(ConfigError):
        docmind.documents.compare(herons(docmind), herons(docmind))
    assert docmind.documents.earlier_versions(herons(docmind)) == ()
    assert docmind.documents.replace(herons(docmind)) == ()
    with pytest.raises(ConfigError):
        docmind.documents.set_version_of(herons(docmind), herons(docmind))
    assert docmind.documents.set_no_version(herons(docmind)).series == ""
    assert docmind.documents.enclosed(herons(docmind)) == ()
    assert docmind.documents.inside((herons(docmind),)) == 0
    assert docmind.documents.thread(herons(docmind)) == ()
    assert docmind.documents.figures(herons(docmind)) == ()
    with pytest.raises(NotFoundError):
        docmind.documents.figure_image(herons(docmind), 1, 1)
    assert docmind.documents.read_again(herons(docmind), pages=[2], mode="never").status == "ready"
    assert docmind.ask("Where do herons nest?").sources[0].page_no == 2
    with pytest.raises(NotFoundError):
        docmind.documents.read_again(herons(docmind), pages=[3])


def conversations(docmind: Any) -> None:
    talk = docmind.conversations
    thread = talk.create("Birds")
    told: list[Any] = []
    turn = talk.ask("Where do herons nest?", thread_id=thread.thread_id, on_progress=told.append)
    assert turn.answer.thread_id == thread.thread_id
    assert told[-1].is_over
    assert told[-1].turn == turn
    run_id = talk.start("Where do herons wait?", thread_id=thread.thread_id)
    over(talk, run_id)
    talk.stop(run_id)  # over already: nothing happens
    assert talk.live(thread.thread_id) is None
    assert len(talk.view(thread.thread_id).turns) == 2
    assert talk.thread(thread.thread_id).title == talk.find_thread("Birds").title
    talk.rename(thread.thread_id, "Waders")
    talk.bin(thread.thread_id)
    assert [one.title for one in talk.threads(deleted=True) if one.thread_id == thread.thread_id] == ["Waders"]
    talk.restore(thread.thread_id)
    talk.bin(thread.thread_id)
    with pytest.raises(NotFoundError):
        talk.run("none")


def bound(docmind: Any) -> None:
    """Ask within what a conversation is bound to, whatever the door: filters narrow that and do not widen it."""
    talk, asked = docmind.conversations, "Where do herons nest?"
    storks = docmind.documents.new_collection("Storks", [])
    thread_id = talk.create("About storks", collections=[storks.collection_id]).thread_id
    assert not talk.ask(asked, thread_id=thread_id).answer.found
    run_id = talk.start(Query(asked, filters=Filters(languages=("en",))), thread_id=thread_id)
    over(talk, run_id)
    assert not talk.run(run_id).turn.answer.found
    with pytest.raises(ConfigError, match="bound to other documents"):
        talk.ask(Query(asked, filters=Filters(doc_ids=(herons(docmind),))), thread_id=thread_id)
    talk.bin(thread_id)
    docmind.documents.remove_collection(storks.collection_id)
    thread_id = talk.create("About herons", documents=[herons(docmind)]).thread_id
    turn = talk.ask(asked, thread_id=thread_id)
    assert (turn.answer.found, turn.filters) == (True, Filters(doc_ids=(herons(docmind),)))
    talk.bin(thread_id)


def one_question(docmind: Any) -> None:
    """Ask outside of a conversation: streamed, and nothing is stored."""
    talk, before = docmind.conversations, len(docmind.conversations.threads())
    told: list[Any] = []
    turn = talk.ask("Where do herons nest?", on_progress=told.append)
    assert "tall trees" in turn.answer.answer
    assert told[0].run_id == told[-1].run_id
    assert told[-1].turn == turn
    run_id = talk.start_once("Where do herons wait?")
    over(talk, run_id)
    assert talk.run(run_id).turn.answer.found
    assert len(talk.threads()) == before


def memories(docmind: Any) -> None:
    made = docmind.memories.add("MSRP means the price that a maker suggests.")
    assert docmind.memories.list("MSRP").memories[0].text == made.text
    assert docmind.memories.find(made.memory_id).memory_id == made.memory_id
    assert isinstance(docmind.memories.expand("What is the MSRP?"), str)
    changed = docmind.memories.edit(made.memory_id, "MSRP means the price that a maker wishes.")
    docmind.memories.remove(changed.memory_id)
    assert not docmind.memories.list("MSRP").memories


def models(docmind: Any) -> None:
    assert docmind.models.list().chosen is None
    assert docmind.models.degraded() == ()
    assert {card.kind for card in docmind.visual.models()} == {"image", "late"}
    assert docmind.visual.is_on("late") is False
    assert docmind.visual.embeddings() == ()
    with pytest.raises(ConfigError):
        docmind.visual.submit_embedding("no such model", [herons(docmind)])


def settings(docmind: Any) -> None:
    info = docmind.settings.info("reading.max_file_mb")
    assert info in docmind.settings.list()
    assert info.value == 512


def tokens(docmind: Any) -> None:
    made = docmind.tokens.new("script", scope="full")
    assert (made.token.name, made.token.scope, made.secret[:8]) == ("script", "full", "docmind_")
    assert docmind.tokens.list() == (made.token,)
    with pytest.raises(ConfigError):
        docmind.tokens.new("Script")
    assert docmind.tokens.revoke("script") == made.token
    with pytest.raises(NotFoundError):
        docmind.tokens.revoke("script")


def snapshots(docmind: Any) -> None:
    made = docmind.snapshots.create("Before the move")
    assert (made.documents, made.pages) == (1, 2)
    assert docmind.snapshots.list() == (made,)
    assert docmind.snapshots.find("before the move") == made
    (held,) = docmind.snapshots.documents(made.snapshot_id)
    assert (held.document, held.is_here) == ("herons.pdf", True)
    assert docmind.snapshots.find_document("herons.pdf") == (herons(docmind), "herons.pdf")
    assert docmind.snapshots.kept_in(herons(docmind)) == (made.snapshot_id,)
    assert docmind.snapshots.verify(made.snapshot_id, deep=True).problems == ()
    assert docmind.search(Query("herons", filters=Filters(snapshots=(made.snapshot_id,)))).hits
    docmind.documents.tag([herons(docmind)], add=["moved"])
    (changed,) = docmind.snapshots.compare(made.snapshot_id).changed
    assert changed.document == "herons.pdf"
    docmind.snapshots.activate(made.snapshot_id)
    assert docmind.documents.get(herons(docmind)).tags == ()
    (before,) = [one for one in docmind.snapshots.list() if one.snapshot_id != made.snapshot_id]
    assert docmind.snapshots.pin(made.snapshot_id, pinned=True).is_pinned
    assert docmind.snapshots.prune(keep=0, days=0.0, dry_run=True) == (before,)
    for one in (made, before):
        docmind.snapshots.remove(one.snapshot_id)
    assert docmind.snapshots.list() == ()
    assert docmind.snapshots.databases() == ()
    with pytest.raises(NotFoundError):
        docmind.snapshots.find("Before the move")
    with pytest.raises(NotFoundError):
        docmind.snapshots.remove_database("before-m001-1600000000000")


def evaluations(docmind: Any) -> None:
    assert docmind.evaluation.runs() == ()
    for ask in (
        lambda: docmind.evaluation.get("latest"), lambda: docmind.evaluation.compare("latest", "latest"),
        lambda: docmind.evaluation.remove("latest"),
    ):  # fmt: skip
        with pytest.raises(NotFoundError):
            ask()


def care(docmind: Any) -> None:
    assert docmind.doctor.examine("quick").is_well
    assert docmind.doctor.repair("quick").mended == ()
    report = docmind.garbage.prune(dry_run=True)
    assert (report.files, report.is_dry_run) == ((), True)
    with pytest.raises(ConfigError):
        docmind.garbage.prune(0, 1.0)
    assert docmind.network.report().since_ms > 0


def paths(docmind: Any) -> None:
    with TemporaryDirectory() as place:
        inner = Path(place, "papers", "inner")
        inner.mkdir(parents=True)
        (inner / "owls.txt").write_text("Owls hunt at night.")
        (inner / ".hidden.txt").write_text("Nobody adds this.")
        storks = Path(place, "storks.txt")
        storks.write_text("Storks nest on chimneys.")
        given = [storks, Path(place, "none.pdf"), inner.parent, Upload("gulls.txt", b"Gulls follow the plough.")]
        results = docmind.add(given)
    told = [(result.document, result.status, result.exit_code) for result in results]
    assert told == [
        ("storks.txt", "added", 0), ("none.pdf", "refused", NotFoundError.exit_code), ("owls.txt", "added", 0),
        ("gulls.txt", "added", 0),
    ]  # fmt: skip
    docmind.erasures.erase([result.doc_id for result in results if result.status == "added"])


def retrievers(docmind: Any) -> None:
    from llama_index.core.schema import QueryBundle

    from docmind.api.llama_index import MultimodalRetriever, PictureRetriever, TextRetriever

    (found,) = docmind.search(Query("nest in tall trees", k=1)).hits
    (node,) = TextRetriever(docmind, k=1).retrieve("nest in tall trees")
    assert (node.node_id, node.text, node.score) == (found.node_id, found.text, found.score)
    assert (node.metadata["document"], node.metadata["page_no"]) == ("herons.pdf", 2)
    first = MultimodalRetriever(docmind, k=2, lists=["text"]).retrieve("shallow water")[0]
    assert (first.metadata["page_no"], first.metadata["source"]) == (1, "text")
    with TemporaryDirectory() as place:
        picture = Path(place, "page.webp")
        picture.write_bytes(docmind.documents.page_image(herons(docmind), 1))
        asked = QueryBundle("herons in water", image_path=str(picture))
        pages = PictureRetriever(docmind, k=2, read_picture=False).retrieve(asked)
    assert pages[0].metadata["document"] == "herons.pdf"


CHAPTERS: tuple[Callable[[Any], None], ...] = (
    looking, editing, correcting, the_bin, erasing, collections, the_queue, searching, answers, conversations,
    bound, one_question, memories, models, settings, tokens, snapshots, evaluations, care, paths, retrievers,
)  # fmt: skip


@pytest.fixture(scope="module", params=["owner", "client"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp(request.param)
    if request.param == "owner":
        with opened(folder) as docmind:
            docmind.add([Upload("herons.pdf", HERONS)])
            yield docmind
        return
    server = Server(folder, **environment_of(folder))
    server.start()
    client = connect(folder / "data")
    client.add([Upload("herons.pdf", HERONS)])
    yield client
    server.stop()


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.__name__)
def test_owner_and_client_keep_the_contract(library: Any, chapter: Callable[[Any], None]) -> None:
    chapter(library)


class Noting:
    """A library that notes which of its methods are used, by their names in the table."""

    def __init__(self, part: Any, used: set[str], at: str = "") -> None:
        self._part, self._used, self._at = part, used, at

    def __getattr__(self, name: str) -> Any:
        found, at = getattr(self._part, name), f"{self._at}{name}"
        self._used.add(at)
        return Noting(found, self._used, f"{at}.") if at in PARTS else found


PARTS = {call.name.partition(".")[0] for call in CALLS if "." in call.name}


def test_the_contract_has_every_call_of_the_table(tmp_path: Path) -> None:
    used: set[str] = set()
    with opened(tmp_path) as docmind:
        docmind.add([Upload("herons.pdf", HERONS)])
        for chapter in CHAPTERS:
            chapter(Noting(docmind, used))
    assert not {call.method or call.name for call in CALLS} - used
