from .chromium.browser import find_browser
from .draw_process import grey_of_page
from .drawing import PagePictures
from .file_type import MARKED_UP, has_known_name, is_code, is_plain, is_short_mail, may_be_plain
from .formats import Rules
from .formats.image import open_picture, open_query
from .isolation import isolation_capability
from .llama_reader import FileReader
from .ocr.document_pass import OcrPass
from .ocr.engine import ENGINE_NAMES, Ocr, engines, languages, ocr_text
from .ocr.pictures import may_be_read
from .ocr.query_pictures import PictureText, telling, turn_of
from .pandoc import find_pandoc, is_better_by_pandoc, pandoc_capability, version_of_pandoc
from .plugins import (
    FileContents,
    InstalledReader,
    installed_readers,
    is_better_by_readers,
    is_for_readers,
    readable_now,
    reader_capabilities,
    reads_more,
)
from .reader import Reader, Reading
from .sheets import is_sheet
from .whole_text import text_of_file

__all__ = [
    "ENGINE_NAMES",
    "MARKED_UP",
    "FileContents",
    "FileReader",
    "InstalledReader",
    "Ocr",
    "OcrPass",
    "PagePictures",
    "PictureText",
    "Reader",
    "Reading",
    "Rules",
    "engines",
    "find_browser",
    "find_pandoc",
    "grey_of_page",
    "has_known_name",
    "installed_readers",
    "is_better_by_pandoc",
    "is_better_by_readers",
    "is_code",
    "is_for_readers",
    "is_plain",
    "is_sheet",
    "is_short_mail",
    "isolation_capability",
    "languages",
    "may_be_plain",
    "may_be_read",
    "ocr_text",
    "open_picture",
    "open_query",
    "pandoc_capability",
    "readable_now",
    "reader_capabilities",
    "reads_more",
    "telling",
    "text_of_file",
    "turn_of",
    "version_of_pandoc",
]
