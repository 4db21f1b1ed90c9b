"""No readable text on the disk: canary words are searched in every file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from archives import archive
from desks import settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import EmbeddingSettings, ReadingSettings, Settings
from docmind.conversations import draft_markdown, listing_csv, listing_markdown
from docmind.errors import NotFoundError
from docmind.index.ephemeral import EphemeralIndex
from docmind.llm.service import OneModel
from docmind.records.documents import Upload
from docmind.storage.database import Database
from docmind_testkit import FakeChatModel
from looking import wait_for
from mails import mail

# None of them is a word, so that no file contains one by chance; each is used in one place only.
IN_TEXT = "Quokkazephyrine"
IN_TITLE = "Wolframjubilant"
IN_NAME = "Xerobiscuitine"
IN_TABLE = "Vexingplatypode"
IN_TAG = "Zinfandelmarquee"
IN_QUESTION = "Yachtsmarzipan"
IN_ANSWER = "Jackdawsquizzical"
IN_MEMORY = "Fjordvexillology"
IN_MEMBER = "Brimplequokkish"  # the name of a file in an archive, and its folder
IN_ARCHIVED = "Glimmersphynxian"  # its text
IN_SUBJECT = "Kumquatzeppelin"  # of a mail
IN_ATTACHMENT = "Plughvexomorph"  # the name of a file attached to it
IN_ATTACHED = "Drizzlewyvernic"  # its text
IN_VERSION = "Mazurkazygotes"  # the text of an earlier version
IN_DRAFT = "Snorkelbyzantium"  # a text that is checked
INSIDE = (IN_MEMBER, IN_ARCHIVED, IN_SUBJECT, IN_ATTACHMENT, IN_ATTACHED, IN_VERSION)
CANARIES = (
    IN_TEXT, IN_TITLE, IN_NAME, IN_TABLE, IN_TAG, IN_QUESTION, IN_ANSWER, IN_MEMORY, *INSIDE, IN_DRAFT,
)  # fmt: skip
RARE = "ñandúçãoß"  # beyond ASCII, where encodings differ


def spellings(word: str) -> dict[str, bytes]:
    """Return the encodings in which a word could be stored in a file."""
    raw = word.encode()
    found: dict[str, bytes] = {}
    for name, spelled in {"": word, "upper ": word.upper(), "lower ": word.lower(), "reversed ": word[::-1]}.items():
        for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le"):
            found[name + encoding] = spelled.encode(encoding)
    found["reversed bytes"] = raw[::-1]
    found["hex"], found["HEX"] = raw.hex().encode(), raw.hex().upper().encode()
    for shift in range(
        3
    ):  # base64 depends on the offset of the word; its first and last characters depend on the bytes around it
        whole = base64.b64encode(bytes(shift) + raw + bytes(3))
        sure = whole[4 if shift else 0 : 4 * ((shift + len(raw)) // 3)]
        found[f"base64 +{shift}"] = sure
        found[f"base64url +{shift}"] = sure.translate(bytes.maketrans(b"+/", b"-_"))
    return found


def test_the_search_for_canaries_finds_them(tmp_path: Path) -> None:
    """Each encoding is found where it is planted, at any alignment."""
    for word in (*CANARIES, RARE):
        known = spellings(word)
        for shift in range(6):
            text = "x" * shift + word + "yz"
            assert known["utf-8"] in text.encode()
            assert known["utf-16-be"] in text.encode("utf-16-be")
            assert any(found in base64.b64encode(text.encode()) for name, found in known.items() if "base64 " in name)
            assert known["hex"] in text.encode().hex().encode()
            assert known["reversed utf-8"] in text[::-1].encode()
        assert min(map(len, known.values())) >= 8
    holes = bytes(1 << 20)
    (tmp_path / "planted").write_bytes(holes + b"x" + IN_TEXT.encode("utf-16-le") + holes)
    (tmp_path / IN_NAME).write_bytes(b"")
    assert len(readable(tmp_path)) == 2


WANTED = {f"{word}, {how}": data for word in (*CANARIES, RARE) for how, data in spellings(word).items()}


def content(path: Path) -> bytes:
    """Return a file's content without long runs of zeros: index files are sparse."""
    chunks = []
    with path.open("rb") as file:
        while chunk := file.read(1 << 16):
            chunks.append(chunk if chunk.count(0) < len(chunk) else bytes(8))
    return b"".join(chunks)


def readable(folder: Path) -> list[str]:
    """Return where which canary can be read: contents and names of all files below `folder`."""
    found, files = [], 0
    for path in folder.rglob("*"):
        data = path.as_posix().encode("utf-8", "surrogateescape")
        if path.is_file():
            files += 1
            data += content(path)
        found += [f"{path}: {what}" for what, spelling in WANTED.items() if spelling in data]
    assert files
    return found


def uploads() -> list[Upload]:
    page = f"Our {IN_TEXT} engine needs {RARE} oil twice a year, says the manual."
    tagged = (IN_TAG,)
    return [
        Upload(
            f"{IN_NAME} manual.pdf", text_pdf([f"The {IN_TEXT} engine", "", "Page three"], title=IN_TITLE), tags=tagged
        ),
        Upload("plain.txt", "\n\n".join([page] * 40).encode(), tags=tagged),
        Upload(f"{IN_NAME}.csv", f"part,price\n{IN_TABLE},42\n{IN_TEXT},7\n".encode()),
        Upload(f"{IN_NAME} again.txt", b""),
    ]


def further_uploads() -> list[Upload]:
    """Return an archive, a mail with a file attached, and two versions of a lease, of which the second replaces one."""
    attached = (
        "--B\nContent-Type: text/plain\n\nSee the attached file.\n"
        f'--B\nContent-Type: text/plain; name="{IN_ATTACHMENT}.txt"\n'
        f'Content-Disposition: attachment; filename="{IN_ATTACHMENT}.txt"\n\n'
        f"The {IN_ATTACHED} valve is checked in spring by the {RARE} fitter.\n--B--\n"
    )
    letter = mail(attached, {"Subject": f"About {IN_SUBJECT}"}, kind="multipart/mixed; boundary=B")
    lease = "Whoever lives here pays. The rent of the mill house is {} crowns a month. It is due on the third. {}"
    return [
        archive("papers.zip", {f"{IN_MEMBER}/{IN_MEMBER}.txt": f"The {IN_ARCHIVED} lamp is lit at dusk by Ana."}),
        Upload("letter.eml", letter),
        Upload("lease.txt", lease.format(900, f"The {IN_VERSION} clause holds.").encode()),
        Upload("lease.txt", lease.format(950, "").encode(), replaces=True),
    ]


def held_in(desk: DocMind, words: Sequence[str]) -> list[str]:
    """Return which words stand in which table of the open database."""
    found = []
    with desk.vault.database.transaction() as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in db.execute(f'SELECT * FROM "{table}"').fetchall():
                said = " ".join(one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in row)
                found += [f"{word} in {table}" for word in words if word in said]
    return found


@pytest.mark.slow
def test_files_inside_versions_lists_and_drafts_are_unreadable_and_leave_nothing(tmp_path: Path) -> None:
    """Names and texts of zip members, attachments and versions, on the disk, and in the library after an erasure."""
    settings = settings_in(tmp_path)
    with DocMind(settings) as desk:
        results = desk.add(further_uploads())
        assert [result.status for result in results] == ["added"] * 4
        assert {one.document for result in results for one in result.enclosed} == {
            f"{IN_MEMBER}.txt", f"{IN_ATTACHMENT}.txt",
        }  # fmt: skip
        assert [info.document for info in desk.documents.binned()] == ["lease.txt"]
        thread_id = desk.conversations.create("Lamps").thread_id
        turn = desk.conversations.ask(f"When is the {IN_ARCHIVED} lamp lit?", thread_id=thread_id)
        assert turn.answer is not None
        assert turn.answer.sources[0].place == "in papers.zip"
        listed = desk.find(IN_ATTACHED)
        assert IN_SUBJECT in listing_csv(listed)
        assert IN_SUBJECT in listing_markdown(listed)
        checked = desk.check(f"The {IN_ATTACHED} valve is checked in spring by the fitter. {IN_DRAFT} is not there.")
        assert IN_SUBJECT in draft_markdown(checked)
        assert set(INSIDE) <= {told.split(" in ")[0] for told in held_in(desk, INSIDE)}, "the test can see them"
        assert not held_in(desk, [IN_DRAFT]), "a draft is not stored"
        assert readable(tmp_path) == []
    assert readable(tmp_path) == []
    with DocMind(settings) as desk:
        desk.conversations.erase_thread(thread_id)  # its question has a word of the archive
        for info in (*desk.documents.all(), *desk.documents.binned()):
            with suppress(NotFoundError):  # erased with the one in which it came
                receipts = desk.erasures.erase([info.doc_id])
                assert all(receipt.is_clean for receipt in receipts)
        assert held_in(desk, INSIDE) == []
        assert readable(tmp_path) == []
    assert readable(tmp_path) == []


@pytest.mark.slow
def test_an_erased_mail_takes_what_was_attached_out_of_conversations(tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path)) as desk:
        desk.add(further_uploads()[1:2])
        thread_id = desk.conversations.create("Valves").thread_id
        turn = desk.conversations.ask("When is the valve checked in spring by the fitter?", thread_id=thread_id)
        assert turn.answer is not None
        assert IN_ATTACHED in turn.answer.sources[0].quote
        (letter,) = (info for info in desk.documents.all() if info.parent is None)
        receipts = desk.erasures.erase([letter.doc_id])
        assert len(receipts) == 2
        assert all(receipt.is_clean for receipt in receipts)
        assert held_in(desk, INSIDE) == []
        view = desk.conversations.view(thread_id)
        assert not any(word in repr(view) for word in INSIDE)


def use(settings: Settings) -> None:
    """Add, search, ask and delete; check the disk while open, closed, and after deleting."""
    with DocMind(settings, models=OneModel(FakeChatModel(f"It is the {IN_ANSWER}.", loop=True))) as desk:
        results = desk.add(uploads())
        assert [result.status for result in results] == ["added", "added", "added", "refused"]
        assert desk.search(f"{IN_TEXT} engine {IN_QUESTION}").hits
        assert desk.ask(f"How often does the {IN_TEXT} engine need oil? {IN_QUESTION}").question
        talks = desk.conversations
        thread_id = talks.create(f"About {IN_TITLE}").thread_id
        for question in (f"How often does the {IN_TEXT} engine need oil? {IN_QUESTION}", f"And {IN_QUESTION}?"):
            turn = talks.ask(question, thread_id=thread_id)
            assert turn.answer is not None
            assert turn.answer.other is not None  # what the model wrote, which no page supports
            assert IN_ANSWER in turn.answer.other.answer
        talks.fork(thread_id, turn.checkpoint_id)
        desk.memories.add(f"The engine stands beside the {IN_MEMORY}.")
        assert talks.threads(IN_QUESTION)
        assert desk.memories.list(IN_MEMORY).memories
        assert talks.export(thread_id, "pdf").data
        info = desk.documents.find(f"{IN_NAME} manual.pdf")
        assert info.tags == (IN_TAG,)
        assert IN_TEXT in desk.documents.page(info.doc_id, 1).text
        wait_for(lambda: desk.vault.database._settling is None)  # a fold that waits for its time would still come
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Database, "_fold", lambda self: None)  # what is written now stays in the log
            desk.memories.add(f"The engine stands beside the {IN_MEMORY}, on oak.")
            assert (settings.data_dir / "vault.db-wal").stat().st_size
            assert readable(settings.data_dir) == []
        working = desk.index.started().index
        assert isinstance(working, EphemeralIndex)
        assert readable(working.private_folder) == [], "nor in memory or the temporary folder, where the index works"
        assert readable(settings.data_dir) == []
        desk.reindex()
        assert readable(settings.data_dir) == []
    assert readable(settings.data_dir) == []
    with DocMind(settings) as desk:
        for info in desk.documents.all():
            desk.erasures.erase([info.doc_id])
        for thread in desk.conversations.threads():
            desk.conversations.erase_thread(thread.thread_id)
        desk.memories.erase()
        assert readable(settings.data_dir) == []
    assert readable(settings.data_dir) == []


@pytest.mark.slow
def test_no_canary_can_be_read_from_the_disk(tmp_path: Path) -> None:
    use(settings_in(tmp_path))
    assert readable(tmp_path) == []


@pytest.mark.slow
def test_no_canary_is_on_the_disk_with_the_real_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole test with its own home folder, with caches and temporary files checked."""
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    use(settings_in(tmp_path, embedding=EmbeddingSettings(), reading=ReadingSettings(image_side_px=400)))
    assert readable(tmp_path) == []


@pytest.mark.slow
@pytest.mark.crash
def test_no_canary_can_be_read_after_a_crash(tmp_path: Path) -> None:
    """Data that was being added when the process crashed is as unreadable as the rest."""
    with DocMind(settings_in(tmp_path)) as desk:
        stopped: list[int] = []

        def stop(_: object) -> None:
            stopped.append(1)
            if len(stopped) > 20:
                raise KeyError("crash")

        with pytest.raises(KeyError):
            desk.add([Upload("a.pdf", text_pdf([f"{IN_TEXT} {n}" for n in range(60)], title=IN_TITLE))], progress=stop)
        assert [info.status for info in desk.documents.all()] == ["reading"]
        assert readable(tmp_path) == []
