from .chromium.browser import find_browser
from .draw_process import grey_of_page
from .drawing import PagePictures
from .file_type import has_known_name, is_code, is_plain, may_be_plain
from .formats import Rules
from .formats.image import open_picture, open_query
from .llama_reader import FileReader
from .ocr.engine import ENGINE_NAMES, Ocr, OcrPass, PictureText, engines, languages, ocr_text, telling, turn_of
from .reader import Reader, Reading
from .sheets import is_sheet
from .whole_text import text_of_file

__all__ = [
    "ENGINE_NAMES",
    "FileReader",
    "Ocr",
    "OcrPass",
    "PagePictures",
    "PictureText",
    "Reader",
    "Reading",
    "Rules",
    "engines",
    "find_browser",
    "grey_of_page",
    "has_known_name",
    "is_code",
    "is_plain",
    "is_sheet",
    "languages",
    "may_be_plain",
    "ocr_text",
    "open_picture",
    "open_query",
    "telling",
    "text_of_file",
    "turn_of",
]
