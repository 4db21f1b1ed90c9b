"""*Settings*: what can be set, by sections."""

from docmind.ui.app.frame import frame
from docmind.ui.pages import settings

frame(settings.draw)
