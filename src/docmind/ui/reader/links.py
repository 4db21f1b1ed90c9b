"""Links that open the reader, for the pages of the app; `docmind.ui.app` has links of its own and defines them."""

from docmind.ui.app.page_links import Cited, cited_in, reader_link

__all__ = ["Cited", "cited_in", "reader_link"]
