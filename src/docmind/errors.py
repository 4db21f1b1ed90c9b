"""The tree of all errors that DocMind raises on purpose.

    DocMindError
    ├── ConfigError                 a setting is unknown or has an impossible value
    ├── ExtraMissingError           an optional part is not installed
    ├── NotFoundError               no such document, page, artifact, job, conversation or memory
    ├── AppNotOpenError             the app is not running, so that no link can open it
    ├── NotPermittedError           a program's token, or the settings, do not allow this
    ├── FolderError                 a folder cannot be followed or looked at
    ├── VaultError                  the vault as a whole
    │   ├── VaultBusyError          another process owns it
    │   ├── VaultFormatError        written by another version, or not a vault
    │   ├── KeyUnavailableError     no key, or no way to reach it
    │   ├── WrongKeyError           a key, but not the one
    │   ├── DamagedError            bytes rotted: the checksum does not hold
    │   │   └── BehindError             vault.db lacks what was acknowledged: it is older than the files beside it
    │   ├── TamperedError           bytes were changed by somebody without the key
    │   ├── DiskFullError           no room to write safely
    │   └── StateRefusedError       what a conversation may not hold: bytes, paths, arrays, objects
    ├── ReadingError                one file cannot be read
    │   ├── EmptyFileError          nothing in it
    │   ├── CorruptFileError        not what it claims to be, or broken
    │   ├── UnsupportedFileError    a type DocMind does not read
    │   ├── PasswordNeededError     locked, and no password or a wrong one was given
    │   ├── TooLargeError           above a limit that protects the machine
    │   └── ReaderFailedError       the reading process died or ran out of time
    ├── IndexEngineError            the vector index cannot serve
    │   └── IndexMismatchError      it was built by another model
    ├── LanguageModelError          a language model cannot write the answer; quotes are given instead
    │   ├── LanguageModelDownError      its server cannot be reached, refuses, or is too slow
    │   │   └── ContextExceededError        the question with its passages is longer than the model takes in
    │   ├── LanguageModelBrokenError    its answer is cut off, is no text, or never ends
    │   ├── ImagesRefusedError          its server does not accept images; it is asked again without them
    │   └── EndpointRefusedError        its host is one that the user has not allowed
    ├── TextModelError              a text model cannot embed or rerank; pages are found by their words
    ├── VisualModelError            a page image model cannot answer; the other result lists are given
    ├── DownloadError               a model could not be fetched; what has arrived is kept for the next try
    ├── WebSearchError              the web could not be searched; the answer then uses the documents only
    ├── WebPageError                a web page could not be fetched
    ├── WorkerFailedError           a child process died or broke off; each package says what that means for it
    └── CancelledError              the user stopped it

Each class has a `hint` (what the user can do now) and the `exit_code` of the command line. The message says in one
sentence what is wrong. Hints and messages are texts of the catalogues: a message is translated where it is raised.
"""

from docmind.wording import N_, _


class DocMindError(Exception):
    """Root of all errors that DocMind raises on purpose."""

    hint = N_("Run `docmind status` to see what is installed and what is missing.")
    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint if hint is not None else _(type(self).hint)


class ConfigError(DocMindError):
    """A setting is unknown or has an impossible value."""

    hint = N_("See docs/settings.md for the settings and their values.")
    exit_code = 2


class ExtraMissingError(DocMindError):
    """An optional part is not installed; the hint is the install line."""

    exit_code = 3


class NotFoundError(DocMindError):
    """There is no such document, page, artifact, job, conversation or memory."""

    hint = N_("Run `docmind list` to see the documents.")
    exit_code = 4


class AppNotOpenError(DocMindError):
    """The app is not running over this vault, so that no link can open it."""

    hint = N_("Start it with `docmind app`. If it is running, use the same DOCMIND_DATA_DIR as it does.")
    exit_code = 5


class NotPermittedError(DocMindError):
    """What a program asks for is not allowed by its token, or by the settings."""

    hint = N_("Give the program a token of full scope, in Settings or with `docmind tokens new NAME --full`.")
    exit_code = 8


class FolderError(DocMindError):
    """A folder cannot be followed, or cannot be looked at now; nothing that was read from it is touched."""

    hint = "docmind sync list shows the folders."
    exit_code = 6


class VaultError(DocMindError):
    """The vault cannot be opened, read or written."""

    exit_code = 10


class VaultBusyError(VaultError):
    """Another process owns the vault."""

    hint = N_("Close the other DocMind (the app or a command), or choose another library with DOCMIND_DATA_DIR.")
    exit_code = 11


class VaultFormatError(VaultError):
    """The vault was written by another version, or it is not a vault."""

    hint = N_("Open it with the version that wrote it, or choose another folder with DOCMIND_DATA_DIR.")
    exit_code = 12


class KeyUnavailableError(VaultError):
    """There is no key, or no way to reach it."""

    hint = N_(
        "Bring back the key file, unlock the keyring, or give the passphrase; "
        "or set DOCMIND_KEYS__RECOVERY_CODE to the recovery code."
    )
    exit_code = 13


class WrongKeyError(VaultError):
    """A key was found, but it is not the one that sealed this."""

    hint = N_("Check which key belongs to this library, or set DOCMIND_KEYS__RECOVERY_CODE to the recovery code.")
    exit_code = 14


class DamagedError(VaultError):
    """Stored bytes have rotted: their checksum does not hold."""

    hint = N_("Restore the file from a backup, or delete the document and add it again.")
    exit_code = 15


class BehindError(DamagedError):
    """`vault.db` lacks acknowledged changes: it is older than the files beside it, or the end of its log is lost."""

    hint = N_(
        "Put the newer vault.db back, with its vault.db-wal. Or look at this copy with DOCMIND_STORAGE__READ_ONLY=1, "
        "or continue with it: `docmind accept`."
    )
    exit_code = 19


class TamperedError(VaultError):
    """Stored bytes were changed by somebody without the key."""

    hint = N_("Don't trust this copy of the library. Restore it from a backup.")
    exit_code = 16


class DiskFullError(VaultError):
    """There is no room left to write safely; nothing was lost."""

    hint = N_("Free some disk space and try again. Nothing was lost.")
    exit_code = 17


class StateRefusedError(VaultError):
    """A conversation's state or its stored form holds a forbidden value: bytes, a path, an array or an object."""

    hint = N_("Delete this conversation permanently if DocMind didn't write it. Your documents aren't affected.")
    exit_code = 18


class ReadingError(DocMindError):
    """One file cannot be read; the others are not affected."""

    exit_code = 20


class EmptyFileError(ReadingError):
    """The file holds nothing."""

    hint = N_("Check that the file was copied completely.")
    exit_code = 21


class CorruptFileError(ReadingError):
    """The file is broken, or not what it claims to be."""

    hint = N_("Re-save it in the program that made it, or get a new copy.")
    exit_code = 22


class UnsupportedFileError(ReadingError):
    """DocMind does not read this type of file."""

    hint = N_("Save it as PDF and add that.")
    exit_code = 23


class PasswordNeededError(ReadingError):
    """The file is locked: no password was given, or a wrong one."""

    hint = N_("Give its password: in the app, or with --password-file on the command line.")
    exit_code = 24


class TooLargeError(ReadingError):
    """The file is above a limit that protects this machine."""

    hint = N_("Split the file, or raise the limit named in docs/settings.md.")
    exit_code = 25


class ReaderFailedError(ReadingError):
    """The process that reads the file died or ran out of time."""

    hint = N_("Re-save the file in the program that made it. If it is fine, raise DOCMIND_READING__TIMEOUT_S.")
    exit_code = 26


class IndexEngineError(DocMindError):
    """The vector index cannot serve; documents and pages are safe."""

    hint = N_("Restart DocMind: it rebuilds the index by itself.")
    exit_code = 30


class IndexMismatchError(IndexEngineError):
    """The index was built by another model than the one in use."""

    hint = N_("Choose the model that built the index, or rebuild it with `docmind reindex`.")
    exit_code = 31


class LanguageModelError(DocMindError):
    """A language model could not write the answer.

    The question is kept, and quotes are given instead.
    """

    hint = N_("Try again, or choose another model in Settings. Until then, answers are quotes.")
    exit_code = 40


class LanguageModelDownError(LanguageModelError):
    """The model's server cannot be reached, refuses the request, or is too slow."""

    hint = N_("Start the model's server and try again. Until then, answers are quotes.")
    exit_code = 41


class ContextExceededError(LanguageModelDownError):
    """The question with its passages has more tokens than the model takes in at once."""

    hint = N_("Ask in fewer words, lower DOCMIND_LLM__CONTEXT_TOKENS, or choose a model with a larger context.")
    exit_code = 48


class LanguageModelBrokenError(LanguageModelError):
    """The model's answer was cut off, is no text, or does not end."""

    exit_code = 42


class ImagesRefusedError(LanguageModelError):
    """The model's server does not accept the page images of a question."""

    hint = N_("Choose a model that accepts images, or set DOCMIND_LLM__IMAGES=0 to send none.")
    exit_code = 47


class EndpointRefusedError(LanguageModelError):
    """The host is neither this machine nor one that the user has allowed."""

    hint = N_("Add it to DOCMIND_LLM__ALLOWED_HOSTS if your questions and pages may be sent there.")
    exit_code = 43


class WebSearchError(DocMindError):
    """The web could not be searched."""

    hint = N_("Check DOCMIND_WEB__PROVIDER and its address. Your documents are still searched.")
    exit_code = 44


class WebPageError(DocMindError):
    """A web page could not be fetched, or is not one that can be read."""

    hint = N_("Open the address in a browser. If the page is there, save it and add the file.")
    exit_code = 50


class VisualModelError(DocMindError):
    """A page image model cannot answer: its files are gone or broken, or it ran out of time or memory."""

    hint = N_("Run `docmind models list` to see the models. Searches work without it.")
    exit_code = 45


class TextModelError(DocMindError):
    """A text model cannot embed or rerank: its files are gone or broken, or its server does not answer."""

    hint = N_("Run `docmind models list` to see the models. Until then, pages are found by their words.")
    exit_code = 49


class DownloadError(DocMindError):
    """A model could not be fetched, or is not what its address promised."""

    hint = N_("Try again: the download continues where it stopped.")
    exit_code = 46


class WorkerFailedError(DocMindError):
    """A child process died, broke the protocol or ran out of time."""

    hint = N_("Try again. If it happens twice with the same file, leave that file out.")
    exit_code = 32


class CancelledError(DocMindError):
    """The user stopped it; what was done so far is kept."""

    hint = N_("Start it again: nothing is done twice.")
    exit_code = 130
