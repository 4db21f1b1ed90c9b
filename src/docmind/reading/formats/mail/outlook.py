"""Mails that Outlook saves (.msg)."""

from __future__ import annotations

from docmind.blocks import Losses
from docmind.reading.formats import Rules
from docmind.reading.formats.mail.letter import Letter
from docmind.records.documents import Upload


def letter_in(upload: Upload, rules: Rules, losses: Losses) -> Letter:
    raise NotImplementedError
