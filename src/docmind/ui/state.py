"""The keys of Streamlit's session state, in one place. A session is one browser tab."""

EXAMPLE = "example"  # str: a suggested question that was clicked
FILTER_DOCUMENTS = "filter_documents"  # list[str]: doc_ids to look in
FILTER_LANGUAGES = "filter_languages"  # list[str]: language codes to look in
READING = "reading"  # PageOnShow: the page open over the conversation
OPEN_DOCUMENT = "open_document"  # str: the doc_id open on the documents page
OPEN_PAGE = "open_page"  # PageOnShow: the page open on the documents page
HANDED_IN = "handed_in"  # dict[job_id, list[Upload | None]]: kept until done, for a password to be tried
UPLOADER = "uploader"  # int: counts up, so that the uploader empties itself
DELETING = "deleting"  # str: the doc_id whose deletion is being confirmed
RECEIPT = "receipt"  # DeleteReceipt of the last deletion, until the next action
ZOOM = "zoom"  # str: how large pages are shown
SORT = "sort"  # str: the order of the documents
FIND = "find"  # str: part of a document's name

THREAD = "thread"  # str | None: the thread_id of the open conversation; read and set with ui/address.py
AT = "at"  # str, in the address only: the earlier point of it that is being looked at
FIND_THREAD = "find_thread"  # str: words looked for in the conversations
MORE_THREADS = "more_threads"  # int: how many conversations the list shows
DELETED_THREAD = "deleted_thread"  # Thread: deleted just now, for undoing it
THREAD_DIALOG = "thread_dialog"  # tuple[str, str]: which dialog about which conversation is open
EXPORTED = "exported"  # Exported: the file that was made and waits to be downloaded
PURGED = "purged"  # ThreadReceipt of the last purge, until the next action
COMPARING = "comparing"  # tuple[str, str, str]: conversation, left and right point; "" where one is to be chosen
UNFOLDED = "unfolded"  # set[str]: branches of the history that stand unfolded
PAGE = "page"  # str: which of the app's pages ran last
CAME_BACK = "came_back"  # bool: this run shows another page than the last one did
EDITING = "editing"  # str: the checkpoint_id of the turn whose question is being edited
EARLIER = "earlier"  # int: how many turns before the last thirty are shown too
NEWS = "news"  # what the open conversation looked like when the page was drawn, to notice what another tab did
WEB = "web"  # bool: the next question may be searched for on the web
MODE = "mode"  # str: how questions are worked on
