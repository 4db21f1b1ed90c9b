"""The schema of `vault.db` as numbered migrations, each applied once in its own transaction. Never edit one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Connection = Any  # sqlcipher3 ships no types; it is a drop-in for sqlite3.Connection
Migration = Callable[[Connection], None]


def m001_documents(db: Connection) -> None:
    """Create the tables of documents, pages and nodes, and of the vectors of node texts."""
    db.execute(
        """CREATE TABLE documents (
            doc_id TEXT PRIMARY KEY, document TEXT NOT NULL, title TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('reading', 'ready', 'failed')), pages INTEGER NOT NULL,
            language TEXT NOT NULL DEFAULT '', bytes INTEGER NOT NULL, tags TEXT NOT NULL DEFAULT '[]',
            original TEXT NOT NULL, original_suffix TEXT NOT NULL, added_at_ms INTEGER NOT NULL,
            message TEXT NOT NULL DEFAULT '') WITHOUT ROWID"""
    )
    db.execute(
        """CREATE TABLE pages (
            page_id TEXT PRIMARY KEY, doc_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
            page_no INTEGER NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL, text TEXT NOT NULL,
            words BLOB NOT NULL, text_source TEXT NOT NULL, confidence REAL NOT NULL, language TEXT NOT NULL,
            image TEXT NOT NULL, image_suffix TEXT NOT NULL, thumbnail TEXT NOT NULL, thumbnail_suffix TEXT NOT NULL,
            UNIQUE (doc_id, page_no))"""
    )
    db.execute("CREATE INDEX pages_image ON pages (image)")
    db.execute("CREATE INDEX pages_thumbnail ON pages (thumbnail)")
    db.execute(
        """CREATE TABLE nodes (
            node_id TEXT PRIMARY KEY, doc_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
            page_no INTEGER NOT NULL, ordinal INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
            modality TEXT NOT NULL, language TEXT NOT NULL, content_hash BLOB NOT NULL)"""
    )
    db.execute("CREATE INDEX nodes_page ON nodes (doc_id, page_no)")
    db.execute("CREATE INDEX nodes_content ON nodes (content_hash)")
    db.execute(
        """CREATE TABLE vectors (
            content_hash BLOB NOT NULL, fingerprint TEXT NOT NULL, vector BLOB NOT NULL,
            PRIMARY KEY (content_hash, fingerprint)) WITHOUT ROWID"""
    )


def m002_epochs(db: Connection) -> None:
    """Create the table of changes that the index must follow.

    The newest number is the vault's epoch.
    """
    db.execute(
        "CREATE TABLE changes (epoch INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL, at_ms INTEGER NOT NULL)"
    )
    db.execute("CREATE INDEX changes_document ON changes (doc_id)")


def m003_page_sources(db: Connection) -> None:
    """Create an index that counts pages read by OCR without decrypting the rows, which hold whole texts."""
    db.execute("CREATE INDEX pages_source ON pages (doc_id, text_source)")


def m004_conversations(db: Connection) -> None:
    """Create the tables of conversations, preferences and memories.

    LangGraph makes its own two tables.
    """
    db.execute(
        """CREATE TABLE chat_session (thread_id TEXT PRIMARY KEY, title TEXT NOT NULL, created_at_ms INTEGER NOT NULL,
            updated_at_ms INTEGER NOT NULL, last_checkpoint_id TEXT, deleted_at_ms INTEGER)"""
    )
    db.execute("CREATE TABLE preferences (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute(
        """CREATE TABLE docmind_store_items (
            item_id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
            created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL, fields TEXT NOT NULL DEFAULT '[]',
            fingerprint TEXT NOT NULL DEFAULT '', vector BLOB, UNIQUE (namespace, key))"""
    )


def m005_tokens(db: Connection) -> None:
    """Create the table of token vectors of node texts.

    They are deleted with the last vector of their text.

    The table has a rowid, which wastes the least space for rows of this size.
    """
    db.execute(
        """CREATE TABLE tokens (
            content_hash BLOB NOT NULL, fingerprint TEXT NOT NULL, tokens BLOB NOT NULL,
            PRIMARY KEY (content_hash, fingerprint))"""
    )
    db.execute(
        """CREATE TRIGGER tokens_follow_vectors AFTER DELETE ON vectors
            WHEN NOT EXISTS (SELECT 1 FROM vectors WHERE content_hash = OLD.content_hash)
            BEGIN DELETE FROM tokens WHERE content_hash = OLD.content_hash; END"""
    )


def m006_looks(db: Connection) -> None:
    """Create the table of page image features by image id.

    Pages with the same image share a row, which is dropped with the last of them.
    """
    db.execute(
        "CREATE TABLE looks (look_id INTEGER PRIMARY KEY AUTOINCREMENT, image TEXT NOT NULL UNIQUE,"
        " version INTEGER NOT NULL, marks BLOB NOT NULL)"
    )
    db.execute("CREATE INDEX looks_version ON looks (version, image)")  # rows hold kilobytes each
    db.execute("CREATE INDEX pages_places ON pages (doc_id, language, page_no, image)")
    db.execute(
        "CREATE TRIGGER looks_dropped AFTER DELETE ON pages"
        " WHEN NOT EXISTS (SELECT 1 FROM pages WHERE image = OLD.image)"
        " BEGIN DELETE FROM looks WHERE image = OLD.image; END"
    )


def m007_page_vectors(db: Connection) -> None:
    """Create the tables of page image vectors by image id, of multivector places, and of durable embedding jobs.

    Vectors are deleted with the last page that shows their image.
    """
    db.execute(
        """CREATE TABLE page_vectors (
            image TEXT NOT NULL, fingerprint TEXT NOT NULL, vector BLOB NOT NULL,
            PRIMARY KEY (image, fingerprint)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX page_vectors_model ON page_vectors (fingerprint, image)")  # counted from it: rows are long
    db.execute(
        """CREATE TABLE late_pages (
            late_id INTEGER PRIMARY KEY AUTOINCREMENT, image TEXT NOT NULL, fingerprint TEXT NOT NULL,
            file TEXT NOT NULL, start INTEGER NOT NULL, tokens INTEGER NOT NULL, dim INTEGER NOT NULL,
            step REAL NOT NULL, checksum INTEGER NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL,
            patches BLOB NOT NULL, slot INTEGER, UNIQUE (image, fingerprint))"""
    )
    db.execute("CREATE INDEX late_pages_fingerprint ON late_pages (fingerprint)")
    db.execute(
        """CREATE TABLE embedding_jobs (
            job_id TEXT PRIMARY KEY, model TEXT NOT NULL, doc_ids TEXT NOT NULL, state TEXT NOT NULL,
            force INTEGER NOT NULL, started_at_ms INTEGER NOT NULL, message TEXT NOT NULL DEFAULT '',
            progress TEXT NOT NULL DEFAULT '{}') WITHOUT ROWID"""
    )
    db.execute(
        "CREATE TRIGGER page_vectors_dropped AFTER DELETE ON pages"
        " WHEN NOT EXISTS (SELECT 1 FROM pages WHERE image = OLD.image)"
        " BEGIN DELETE FROM page_vectors WHERE image = OLD.image; DELETE FROM late_pages WHERE image = OLD.image; END"
    )


def m008_ledger(db: Connection) -> None:
    """Create the table of last commits, compared with the high-water mark, and that of artifacts still to unlink."""
    db.execute("CREATE TABLE ledger (slot INTEGER PRIMARY KEY, seq INTEGER NOT NULL, chain BLOB NOT NULL)")
    db.execute(
        "CREATE TABLE doomed (sha256 TEXT NOT NULL, suffix TEXT NOT NULL, PRIMARY KEY (sha256, suffix)) WITHOUT ROWID"
    )


def m009_uploads(db: Connection) -> None:
    """Create the upload queue: files stay in it until they are read and their outcome was reported."""
    db.execute(
        """CREATE TABLE uploads (
            upload_id INTEGER PRIMARY KEY AUTOINCREMENT, batch INTEGER NOT NULL, name TEXT NOT NULL,
            tags TEXT NOT NULL DEFAULT '[]', doc_id TEXT NOT NULL, artifact TEXT NOT NULL,
            artifact_suffix TEXT NOT NULL, bytes INTEGER NOT NULL,
            state TEXT NOT NULL CHECK (state IN
                ('waiting', 'reading', 'paused', 'failed', 'locked', 'done', 'cancelled')),
            result TEXT NOT NULL DEFAULT '', error TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '',
            hint TEXT NOT NULL DEFAULT '', added_at_ms INTEGER NOT NULL, changed_at_ms INTEGER NOT NULL)"""
    )
    db.execute("CREATE INDEX uploads_document ON uploads (doc_id, state)")
    db.execute("CREATE INDEX uploads_artifact ON uploads (artifact, state)")
    db.execute("CREATE INDEX uploads_state ON uploads (state)")


def m010_library(db: Connection) -> None:
    """Add what a person sets on documents: edited names, the bin, collections.

    `heading` is the title found on the first page. `read_as` has the name and title of an edited document as they were
    when it was read, because its vectors were made with them.
    """
    db.execute("ALTER TABLE documents ADD COLUMN heading TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE documents ADD COLUMN read_as TEXT NOT NULL DEFAULT '[]'")
    db.execute("ALTER TABLE documents ADD COLUMN is_language_set INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE documents ADD COLUMN deleted_at_ms INTEGER")
    db.execute("CREATE INDEX documents_bin ON documents (deleted_at_ms) WHERE deleted_at_ms IS NOT NULL")
    db.execute(
        "CREATE TABLE collections (collection_id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at_ms INTEGER NOT NULL)"
        " WITHOUT ROWID"
    )
    db.execute(
        """CREATE TABLE collected (
            collection_id TEXT NOT NULL REFERENCES collections ON DELETE CASCADE,
            doc_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
            PRIMARY KEY (collection_id, doc_id)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX collected_document ON collected (doc_id)")


def m011_folders(db: Connection) -> None:
    """Create the tables of folders that are followed, and of their files.

    The path of a folder is stored; a file below it is named by a hash of its path, keyed with the folder's salt.
    """
    db.execute(
        """CREATE TABLE folders (
            folder_id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, salt BLOB NOT NULL,
            include TEXT NOT NULL DEFAULT '[]', exclude TEXT NOT NULL DEFAULT '[]', is_watched INTEGER NOT NULL,
            added_at_ms INTEGER NOT NULL, synced_at_ms INTEGER NOT NULL DEFAULT 0,
            message TEXT NOT NULL DEFAULT '')"""
    )
    db.execute(
        """CREATE TABLE folder_files (
            folder_id INTEGER NOT NULL, place BLOB NOT NULL, file_id INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
            size INTEGER NOT NULL, doc_id TEXT NOT NULL, before TEXT NOT NULL DEFAULT '',
            is_ours INTEGER NOT NULL, is_gone INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (folder_id, place)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX folder_files_document ON folder_files (doc_id)")
    db.execute("CREATE INDEX folder_files_before ON folder_files (before) WHERE before <> ''")


def m012_pinned_and_archived(db: Connection) -> None:
    """Add whether a conversation is pinned to the top of the list, and whether it is in the archive."""
    for column in ("is_pinned", "is_archived"):
        db.execute(
            f"ALTER TABLE chat_session ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0 CHECK ({column} IN (0, 1))"
        )


def m013_web_pages_and_bound_conversations(db: Connection) -> None:
    """Create the table of addresses that documents were fetched from, and those of what conversations are bound to.

    An address is written when its page is handed in, and deleted with the last row that refers to the document.
    """
    db.execute(
        "CREATE TABLE web_pages (doc_id TEXT PRIMARY KEY, address TEXT NOT NULL, fetched_at_ms INTEGER NOT NULL)"
        " WITHOUT ROWID"
    )
    for table, other in (("documents", "uploads"), ("uploads", "documents")):
        db.execute(
            f"CREATE TRIGGER web_pages_follow_{table} AFTER DELETE ON {table}"
            f" WHEN NOT EXISTS (SELECT 1 FROM {other} WHERE doc_id = OLD.doc_id)"
            " BEGIN DELETE FROM web_pages WHERE doc_id = OLD.doc_id; END"
        )
    for table, column in (("collections", "collection_id"), ("documents", "doc_id")):
        db.execute(
            f"CREATE TABLE bound_{table} (thread_id TEXT NOT NULL REFERENCES chat_session ON DELETE CASCADE,"
            f" {column} TEXT NOT NULL REFERENCES {table} ON DELETE CASCADE,"
            f" PRIMARY KEY (thread_id, {column})) WITHOUT ROWID"
        )
        db.execute(f"CREATE INDEX bound_{table}_{column} ON bound_{table} ({column})")


def m014_erasures(db: Connection) -> None:
    """Create the table of erased documents: what is still to be done, then the receipt.

    `plan` says what was asked for, and `traces` has compressed sequences of the document's text that the files are
    searched for; both are emptied with the receipt. A row stays, so that a document that was erased is known to be.
    """
    db.execute(
        """CREATE TABLE erasures (
            erasure_id INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL, begun_at_ms INTEGER NOT NULL,
            counts TEXT NOT NULL, plan TEXT NOT NULL, traces BLOB NOT NULL, receipt TEXT NOT NULL DEFAULT '')"""
    )
    db.execute("CREATE INDEX erasures_document ON erasures (doc_id)")


def m015_ages(db: Connection) -> None:
    """Create the table of since when files have not been referred to, and add since when documents are in the bin.

    Both are times of the vault's own clock (`docmind.storage.own_clock`).
    """
    db.execute(
        "CREATE TABLE ages (state TEXT NOT NULL, name TEXT NOT NULL, since_ms INTEGER NOT NULL,"
        " PRIMARY KEY (state, name)) WITHOUT ROWID"
    )
    db.execute("ALTER TABLE documents ADD COLUMN binned_own_ms INTEGER")


def m016_snapshots(db: Connection) -> None:
    """Create the tables of snapshots, of the segments that hold their documents, and of what segments refer to.

    A snapshot whose state is not `whole` was interrupted, and is removed. `segment_files` names the originals and page
    images that a segment needs. A document's key in `segment_keys` opens all of its segments and nothing else.
    """
    db.execute(
        """CREATE TABLE snapshots (
            snapshot_no INTEGER PRIMARY KEY AUTOINCREMENT, snapshot_id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
            reason TEXT NOT NULL, created_at_ms INTEGER NOT NULL, documents INTEGER NOT NULL DEFAULT 0,
            pages INTEGER NOT NULL DEFAULT 0, corpus TEXT NOT NULL DEFAULT '', config TEXT NOT NULL DEFAULT '',
            text_model TEXT NOT NULL DEFAULT '', is_pinned INTEGER NOT NULL DEFAULT 0,
            state TEXT NOT NULL CHECK (state IN ('making', 'whole', 'going')))"""
    )
    db.execute(
        "CREATE TABLE segments (segment_no INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT NOT NULL UNIQUE,"
        " doc_id TEXT NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX segments_document ON segments (doc_id)")
    db.execute("CREATE TABLE segment_keys (doc_id TEXT PRIMARY KEY, key BLOB NOT NULL) WITHOUT ROWID")
    db.execute(
        """CREATE TABLE segment_files (
            sha256 TEXT NOT NULL, segment_no INTEGER NOT NULL REFERENCES segments ON DELETE CASCADE,
            suffix TEXT NOT NULL, PRIMARY KEY (sha256, segment_no)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX segment_files_segment ON segment_files (segment_no)")
    db.execute(
        """CREATE TABLE snapshot_members (
            snapshot_no INTEGER NOT NULL REFERENCES snapshots ON DELETE CASCADE,
            segment_no INTEGER NOT NULL REFERENCES segments ON DELETE CASCADE,
            PRIMARY KEY (snapshot_no, segment_no)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX snapshot_members_segment ON snapshot_members (segment_no)")


def m017_api_tokens(db: Connection) -> None:
    """Create the table of long-lived tokens of programs; of a token only the hash is kept."""
    db.execute(
        """CREATE TABLE api_tokens (
            token_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, hash BLOB NOT NULL UNIQUE,
            scope TEXT NOT NULL CHECK (scope IN ('read', 'full')), created_at_ms INTEGER NOT NULL,
            used_at_ms INTEGER)"""
    )


def m018_sheets(db: Connection) -> None:
    """Create the index of pages that are drawn when they are looked at: their image and thumbnail are one file."""
    db.execute("CREATE INDEX pages_sheets ON pages (doc_id) WHERE image = thumbnail")


def m019_facts_of_documents(db: Connection) -> None:
    """Add author, day, last change and how it was read to documents; those that are there have none of them."""
    for column in ("author", "dated", "ingestion"):
        db.execute(f"ALTER TABLE documents ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE documents ADD COLUMN updated_at_ms INTEGER NOT NULL DEFAULT 0")


def m020_blocks(db: Connection) -> None:
    """Add to pages what their text is made of, and to passages what was embedded before their text.

    Pages that are there have no blocks until their file is read again.
    """
    db.execute("ALTER TABLE pages ADD COLUMN blocks BLOB NOT NULL DEFAULT x''")
    db.execute("ALTER TABLE nodes ADD COLUMN context TEXT NOT NULL DEFAULT ''")


def m021_pages_that_wait(db: Connection) -> None:
    """Replace the index of sheets by one of the pages whose passages get their vectors later: most sheets do not."""
    db.execute("DROP INDEX IF EXISTS pages_sheets")
    db.execute("CREATE INDEX pages_later ON pages (doc_id, page_no) WHERE image = thumbnail AND page_no > 16")


def m022_series(db: Connection) -> None:
    """Add to documents the series of versions to which they belong; those that are there belong to none."""
    db.execute("ALTER TABLE documents ADD COLUMN series TEXT NOT NULL DEFAULT ''")


def m023_enclosed(db: Connection) -> None:
    """Create the table of files inside documents, and add to documents and uploads the one in which they came.

    A row of `enclosed` names the document that the file is, or would be, and why it is none; a file may lie in several
    documents. Documents that are there came by themselves.
    """
    db.execute(
        """CREATE TABLE enclosed (
            parent_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, place INTEGER NOT NULL, name TEXT NOT NULL,
            doc_id TEXT NOT NULL, bytes INTEGER NOT NULL, message TEXT NOT NULL DEFAULT '',
            PRIMARY KEY (parent_id, place)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX enclosed_document ON enclosed (doc_id)")
    db.execute("ALTER TABLE documents ADD COLUMN parent_id TEXT NOT NULL DEFAULT ''")
    db.execute("CREATE INDEX documents_parent ON documents (parent_id) WHERE parent_id <> ''")
    db.execute("ALTER TABLE uploads ADD COLUMN parent_id TEXT NOT NULL DEFAULT ''")
    db.execute("CREATE INDEX uploads_parent ON uploads (parent_id) WHERE parent_id <> ''")


def m024_figures(db: Connection) -> None:
    """Create the table of figures: pictures, charts and drawings on pages, each with the artifact that shows it.

    They go with their page. Documents that are there have none until their file is read again.
    """
    db.execute(
        """CREATE TABLE figures (
            doc_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, page_no INTEGER NOT NULL,
            number INTEGER NOT NULL, x INTEGER NOT NULL, y INTEGER NOT NULL, w INTEGER NOT NULL, h INTEGER NOT NULL,
            width INTEGER NOT NULL, height INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
            caption TEXT NOT NULL, alt TEXT NOT NULL, phash TEXT NOT NULL, image TEXT NOT NULL,
            image_suffix TEXT NOT NULL, PRIMARY KEY (doc_id, page_no, number)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX figures_image ON figures (image)")
    db.execute(
        "CREATE TRIGGER figures_dropped AFTER DELETE ON pages"
        " BEGIN DELETE FROM figures WHERE doc_id = OLD.doc_id AND page_no = OLD.page_no; END"
    )


def m025_corrections(db: Connection) -> None:
    """Create the table of corrections by hand, and add to pages what was read where corrections changed it.

    A correction stands at a place of its page, in fractions of its width and height, so that it fits the page drawn in
    another size. `reading` is the text that was read there, and `fits` whether the page has that line now.
    """
    db.execute(
        """CREATE TABLE corrections (
            doc_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, page_no INTEGER NOT NULL,
            number INTEGER NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('line', 'header')), x REAL NOT NULL,
            y REAL NOT NULL, w REAL NOT NULL, h REAL NOT NULL, reading TEXT NOT NULL, text TEXT NOT NULL,
            at_ms INTEGER NOT NULL, fits INTEGER NOT NULL DEFAULT 1,
            PRIMARY KEY (doc_id, page_no, number)) WITHOUT ROWID"""
    )
    db.execute("ALTER TABLE pages ADD COLUMN uncorrected BLOB NOT NULL DEFAULT x''")


def m026_ocr_of_pages(db: Connection) -> None:
    """Add to pages how OCR read them, as JSON; of those that are there it is not known."""
    db.execute("ALTER TABLE pages ADD COLUMN ocr TEXT NOT NULL DEFAULT ''")


def m027_mails(db: Connection) -> None:
    """Add to documents who wrote a mail, to whom and when, its ids, and its thread; those that are there have none."""
    for column in ("sender", "recipients", "sent_at", "thread", "message_id", "refers_to", "topic"):
        db.execute(f"ALTER TABLE documents ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
    for column in ("thread", "message_id", "topic"):
        db.execute(f"CREATE INDEX documents_{column} ON documents ({column}) WHERE {column} <> ''")


def m028_uploads_that_replace(db: Connection) -> None:
    """Note with each upload whether it replaces earlier versions, which those that are there do not."""
    db.execute("ALTER TABLE uploads ADD COLUMN replaces INTEGER NOT NULL DEFAULT 0")
    db.execute("CREATE INDEX uploads_replacing ON uploads (doc_id) WHERE replaces")
    db.execute("CREATE INDEX folder_files_replacing ON folder_files (doc_id) WHERE before <> ''")


def m029_evaluation(db: Connection) -> None:
    """Create the tables of labels of sources, and of runs of evaluations.

    A run over the user's own labels has the pages it found in `evaluation_pages` and none of their questions, so that
    both go with the document or the conversation.
    """
    db.execute(
        """CREATE TABLE source_labels (
            query_id TEXT NOT NULL, thread_id TEXT REFERENCES chat_session ON DELETE CASCADE, question TEXT NOT NULL,
            doc_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, page_no INTEGER NOT NULL,
            grade INTEGER NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (query_id, doc_id, page_no)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX source_labels_document ON source_labels (doc_id)")
    db.execute("CREATE INDEX source_labels_thread ON source_labels (thread_id)")
    db.execute(
        """CREATE TABLE evaluation_runs (
            run_id TEXT PRIMARY KEY, made_at_ms INTEGER NOT NULL, set_name TEXT NOT NULL, summary TEXT NOT NULL,
            record BLOB NOT NULL) WITHOUT ROWID"""
    )
    db.execute(
        """CREATE TABLE evaluation_pages (
            run_id TEXT NOT NULL REFERENCES evaluation_runs ON DELETE CASCADE, query_id TEXT NOT NULL,
            doc_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, page_no INTEGER NOT NULL,
            rank INTEGER NOT NULL, grade INTEGER NOT NULL, score REAL NOT NULL,
            PRIMARY KEY (run_id, query_id, doc_id, page_no)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX evaluation_pages_document ON evaluation_pages (doc_id)")


def m030_vectors_of_figures(db: Connection) -> None:
    """Create the table of vectors of the pictures of figures, which go with the last figure that shows theirs.

    Figures get their kind, which is not known of those that are there.
    """
    db.execute("ALTER TABLE figures ADD COLUMN kind TEXT NOT NULL DEFAULT ''")
    db.execute(
        """CREATE TABLE figure_vectors (
            vector_no INTEGER PRIMARY KEY AUTOINCREMENT, image TEXT NOT NULL, fingerprint TEXT NOT NULL,
            vector BLOB NOT NULL, UNIQUE (image, fingerprint))"""
    )
    db.execute("CREATE INDEX figure_vectors_model ON figure_vectors (fingerprint)")
    for name, event in (("dropped", "DELETE"), ("changed", "UPDATE OF image")):
        db.execute(
            f"CREATE TRIGGER IF NOT EXISTS figure_vectors_{name} AFTER {event} ON figures"
            " WHEN NOT EXISTS (SELECT 1 FROM figures WHERE image = OLD.image)"
            " BEGIN DELETE FROM figure_vectors WHERE image = OLD.image; END"
        )


def m031_said_versions(db: Connection) -> None:
    """Create the table of what a person said of two documents: that they are versions of one, or are not.

    The id that comes first is `doc_id`. Documents get the day on which a program made their file, which is not known of
    those that are there.
    """
    db.execute(
        """CREATE TABLE said_versions (
            doc_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
            other TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, are_versions INTEGER NOT NULL,
            PRIMARY KEY (doc_id, other)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX said_versions_other ON said_versions (other)")
    db.execute("ALTER TABLE documents ADD COLUMN stamped TEXT NOT NULL DEFAULT ''")


def m032_vectors_of_passages(db: Connection) -> None:
    """Create the table of vectors of the passages of pages, which go with their page and with its text.

    `INSERT OR REPLACE` fires no trigger of the page that it replaces, so they are dropped behind an insertion too. The
    second index sums up their sizes without a look at the rows, which are long.
    """
    db.execute(
        """CREATE TABLE passage_vectors (
            row_no INTEGER PRIMARY KEY, doc_id TEXT NOT NULL, page_no INTEGER NOT NULL, fingerprint TEXT NOT NULL,
            made_from BLOB NOT NULL, vectors BLOB NOT NULL, UNIQUE (doc_id, page_no, fingerprint))"""
    )
    db.execute("CREATE INDEX passage_vectors_size ON passage_vectors (length(vectors))")
    for name, event, row in (
        ("dropped", "DELETE", "OLD"),
        ("replaced", "INSERT", "NEW"),
        ("changed", "UPDATE OF doc_id, page_no, text, blocks", "OLD"),
    ):
        db.execute(
            f"CREATE TRIGGER passage_vectors_{name} AFTER {event} ON pages BEGIN"
            f" DELETE FROM passage_vectors WHERE doc_id = {row}.doc_id AND page_no = {row}.page_no; END"
        )


MIGRATIONS: tuple[Migration, ...] = (
    m001_documents,
    m002_epochs,
    m003_page_sources,
    m004_conversations,
    m005_tokens,
    m006_looks,
    m007_page_vectors,
    m008_ledger,
    m009_uploads,
    m010_library,
    m011_folders,
    m012_pinned_and_archived,
    m013_web_pages_and_bound_conversations,
    m014_erasures,
    m015_ages,
    m016_snapshots,
    m017_api_tokens,
    m018_sheets,
    m019_facts_of_documents,
    m020_blocks,
    m021_pages_that_wait,
    m022_series,
    m023_enclosed,
    m024_figures,
    m025_corrections,
    m026_ocr_of_pages,
    m027_mails,
    m028_uploads_that_replace,
    m029_evaluation,
    m030_vectors_of_figures,
    m031_said_versions,
    m032_vectors_of_passages,
)
