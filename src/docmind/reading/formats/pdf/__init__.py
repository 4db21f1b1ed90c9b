"""PDF through PDFium: the text layer with word boxes, and page images.

PDFium must not be used from two threads, so this runs only in a reading process, one document at a time. Document
JavaScript never runs: the form environment is not started. Filled form fields are merged into their page instead.
"""

from docmind.reading.formats.pdf.file import PdfFile, open_pdf, unreadable_page

__all__ = ["PdfFile", "open_pdf", "unreadable_page"]
