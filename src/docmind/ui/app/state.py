"""Keys of Streamlit's session state, one for each browser tab, and the open conversation.

The id of the open conversation is in the page's address, so that it survives reloads and bookmarks.
"""

from __future__ import annotations

import re

import streamlit as st

EXAMPLE = "example"  # str: a suggested question that was clicked
FILTER_DOCUMENTS = "filter_documents"  # list[str]: doc_ids to look in
FILTER_LISTS = "filter_lists"  # list[str]: `words` and `look`, what to search by
ASK_DOCUMENT = "ask_document"  # bool: the reader asked for questions to one document, which are asked on the first page
FILTER_CONTENT = "filter_content"  # list[str]: `image_caption` where only figures are looked for
FILTER_SIZES = "filter_sizes"  # list[str]: sizes of figures, where only figures are looked for
FILTER_FIGURE_KINDS = "filter_figure_kinds"  # list[str]: kinds of figures, where only figures are looked for
FILTER_KINDS = "filter_kinds"  # list[str]: kinds of files to look in
FILTER_TAGS = "filter_tags"  # list[str]: tags of documents to look in
FILTER_SINCE = "filter_since"  # list[str]: at most one: the documents added in the last so many days
FILTER_COLLECTIONS = "filter_collections"  # list[str]: ids of collections to look in
FILTER_SNAPSHOTS = "filter_snapshots"  # list[str]: at most one: the id of a snapshot whose documents are asked
FILTER_SENDERS = "filter_senders"  # list[str]: people whose mails are asked, each as the mails name them
FILTER_YEARS = "filter_years"  # list[str]: years of documents to look in
BOUND = "bound"  # tuple[str, Filters]: the conversation drawn last ("" for a new one), and what it is bound to
FILTERS = "filters_kept"  # dict[str, list[str]]: the choices above, while a page without their fields is shown
FILTER_ORDER = "filter_order"  # list[str]: `newest`, to have the newest first among what answers equally well
FILTER_LANGUAGES = "filter_languages"  # list[str]: language codes to look in
OPEN_DOCUMENT = "document"  # of the page's address: the doc_id open on the documents page
OPEN_BIN = "bin"  # of the page's address: the documents page shows the bin
OPEN_COMPARISON = "compare"  # of the page's address: two doc_ids with "~" between them, which are compared
KEPT_VERSIONS = "kept_versions"  # set[str]: new versions that are kept beside the earlier ones, as was said
SHOWN_CHANGE = "shown_change"  # int: the place of the change that the comparison shows
LIBRARY = "library"  # the table of documents
LIBRARY_TURN = "library_turn"  # int: a counter that unselects all rows of the table
LIBRARY_DIALOG = "library_dialog"  # tuple[str, tuple[str, ...]]: what is asked about documents, and their doc_ids
BINNED = (
    "binned"  # tuple[float, tuple[DocumentInfo, ...]]: what was moved to the bin last and when, until it is dismissed
)
PAGES = "pages"  # the thumbnails of the open document
FIGURES = "figures-of"  # the figures of one document
DROPPED = "dropped"  # Dropped: the files that were dropped on the question box, until they are dismissed
DROPPED_SCOPE = "dropped_scope"  # str: which documents are asked once the dropped ones are read
TAKEN_FILES = "taken_files"  # set[str]: ids of files of the uploader that were handed in
ADDING = "adding"  # str: the way to add documents whose dialog is open
QUEUE_TROUBLE = "queue_trouble"  # DocMindError: why the last action on the queue failed, until the next
UPLOADER = "uploader"  # list[UploadedFile]: everything that was dropped into the upload box
FOLDER_UPLOADER = "folder_uploader"  # list[UploadedFile]: everything of the folders that were dropped
WEB_ADDRESS = "web_address"  # str: the address of a web page being typed
FOLDER_PATH = "folder_path"  # str: the folder being typed
FOLDER_TROUBLE = "folder_trouble"  # DocMindError: why the last action on a folder failed, until the next
RECEIPT = "receipt"  # tuple[ErasureReceipt, ...]: what was erased last, until it is dismissed
HEAT_MAP = "heat_map"  # tuple[tuple[str, str, int], HeatMap]: question, document, page, and the map computed last
FETCHING = "fetching"  # str: the model whose download is being asked about
FETCHING_FILE = "fetching_file"  # FileSource: the language model whose download is being asked about
REMOVING = "removing"  # str: the language model inside DocMind whose removal is being confirmed
MODEL_TROUBLE = "model_trouble"  # tuple[str, DocMindError]: a model, and why the last action on it failed
MODEL_CHANGED = "model_changed"  # bool: an action on a model waits for the page to be redrawn
EMBEDDING = "embedding"  # tuple[str, ...]: doc_ids whose embedding is being asked about; () for all
FOLLOWED = "followed"  # set[str]: embedding jobs that this tab saw running, until their end is acknowledged
WRITTEN = "written"  # str: the checkpoint of the turn that a language model wrote last, while this tab looked on
FOUND = "found"  # tuple: a question as it was asked, and the pages that all kinds of search found for it

THREAD = "thread"  # str | None: the thread_id of the open conversation; read with `thread_id`, set with `open_thread`
AT = "at"  # str, in the address only: the earlier point of the conversation that is viewed
FIND_THREAD = "find_thread"  # str: words searched for in the conversations
MORE_THREADS = "more_threads"  # int: how many conversations the list shows
ARCHIVE_OPEN = "archive_open"  # bool: the list shows the archived conversations
TO_ASK = "to_ask"  # bool: a conversation was chosen on another page: the Ask page is shown next
DELETED_THREAD = "deleted_thread"  # Thread: deleted just now, for undoing it
THREAD_DIALOG = "thread_dialog"  # tuple[str, str]: which dialog about which conversation is open
EXPORTED = "exported"  # Exported: the file that was made and is ready for download
PURGED = "purged"  # ThreadReceipt of the last purge, until the next action
CHECKING = "checking"  # bool: a text is checked in place of the conversation
COMPARING = "comparing"  # tuple[str, str, str]: conversation, left and right point; "" where one is still to be chosen
UNFOLDED = "unfolded"  # set[str]: branches of the history that are unfolded
PAGE = "page"  # str: which of the app's pages ran last
CAME_BACK = "came_back"  # bool: this run shows another page than the last one did
EDITING = "editing"  # str: the checkpoint_id of the turn whose question is being edited
EDIT = "edit"  # str: the question as it is being edited
QUESTION = "question"  # str: the question being typed
EARLIER = "earlier"  # tuple[str, int]: a conversation, and how many of its last turns are shown
BESIDE = "beside"  # str: what is shown beside the conversation: "History", "Memory" or nothing
ASKED = "asked"  # str: the run_id of what this tab asked last
DRAWN = "drawn"  # RunProgress: how the running question was drawn last
SENT = "sent"  # bool: a question was taken since the page was drawn
GIVEN_BACK = "given_back"  # tuple[str, str]: the key of an input, and the question that is put back into it
TAKEN = "taken"  # bool: the question of this run was taken by the callback of its input
REFUSED = "refused"  # DocMindError: why the last question was not taken, until it is shown
AGENT = "agent"  # bool: questions are answered in agent mode; absent where no model can
INSTRUCTIONS = "instructions"  # str, followed by a conversation's id: how to answer there; by nothing: everywhere
WEB = "web"  # bool: the web may be searched for the next question
FIND_MEMORY = "find_memory"  # str: words searched for in the memories
EDITING_MEMORY = "editing_memory"  # str | None: the memory_id being corrected
FORGOTTEN = "forgotten"  # Memory: deleted just now, for undoing it
MEMORY_TROUBLE = "memory_trouble"  # DocMindError: why the last action on a memory failed, until it is shown
PURGING_MEMORIES = "purging_memories"  # str | None: which memories are about to be erased
DISMISSED = "dismissed"  # set[str]: proposals of conversations that the user does not want
SETTINGS_DRAWN = "settings_drawn"  # dict[str, Any]: what the controls of settings showed last, by their keys
TRIED = "tried"  # Trial | DocMindError: what became of the last test of a language model
RECOVERY = "recovery"  # str: which dialog about the recovery code is open
SHOW_CODE = "show"  # the value of RECOVERY that shows the code
KEY_DIALOG = "key_dialog"  # Change: which dialog about the passphrase is open
KEY_CHANGED = "key_changed"  # bool: this tab changed what opens the library
PICTURE = "picture"  # PictureSearch: the picture that is searched for; absent where there is none
PICTURE_BOX = "picture_box"  # int: a counter that empties the box for pictures
PICTURE_WORDS = "picture_words"  # str: words that are searched for along with the picture
SECTION = "section"  # str, in the address too: the open section of Settings
EVALUATION_RUN = "evaluation_run"  # str: the id of the run that is shown
EVALUATION_BEFORE = "evaluation_before"  # str: the id of the run that it is compared with; "" for none


_THREAD_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


def thread_id() -> str | None:
    """Return the id in the address; after another page, the one that was open.

    None: a new conversation.

    The id is well formed, but such a conversation may not exist.
    """
    told = st.query_params.get(THREAD)
    came_back = st.session_state.pop(CAME_BACK, False)
    if told is not None and _THREAD_ID.fullmatch(told):
        st.session_state[THREAD] = told
    elif told is None and came_back and st.session_state.get(THREAD):
        st.query_params[THREAD] = st.session_state[THREAD]
    else:
        open_thread(None)
    return st.session_state[THREAD]


def open_thread(thread_id: str | None) -> None:
    """Make this conversation the open one; None: a new one, which its first question creates."""
    st.session_state[THREAD] = thread_id
    if thread_id is not None:
        st.query_params[THREAD] = thread_id
    elif THREAD in st.query_params:
        del st.query_params[THREAD]
