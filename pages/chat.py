"""*Ask*: conversations with the documents, each answer with its sources."""

from docmind.ui.app.frame import frame
from docmind.ui.pages import chat

frame(chat.draw)
