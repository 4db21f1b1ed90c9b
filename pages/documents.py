"""*Documents*: add files, follow their reading, keep and view documents, take them out again."""

from docmind.ui.app.frame import frame
from docmind.ui.pages import documents

frame(documents.draw)
