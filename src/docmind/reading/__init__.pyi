from .chromium.browser import find_browser
from .file_type import has_known_name, is_plain, may_be_plain
from .formats import Rules
from .formats.image import open_picture, open_query
from .llama_reader import FileReader
from .ocr.engine import Ocr, OcrPass, PictureText, telling, turn_of
from .reader import Reader, Reading

__all__ = [
    "FileReader",
    "Ocr",
    "OcrPass",
    "PictureText",
    "Reader",
    "Reading",
    "Rules",
    "find_browser",
    "has_known_name",
    "is_plain",
    "may_be_plain",
    "open_picture",
    "open_query",
    "telling",
    "turn_of",
]
