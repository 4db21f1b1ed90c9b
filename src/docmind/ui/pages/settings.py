"""The Settings page: what can be set, by sections; the address names the open one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from docmind.config import Settings
from docmind.ui.app import state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.frame import recovery_section
from docmind.ui.chat import threads
from docmind.ui.evaluation import section
from docmind.ui.settings import (
    bundles,
    check,
    language_models,
    network,
    other_readers,
    programs,
    rotation,
    sections,
    snapshots,
    text_models,
    visual_models,
)
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

_Draw = Callable[["DocMind", Settings], None]


def draw(docmind: DocMind) -> None:
    threads.sidebar_elsewhere(docmind)
    st.title(_("Settings"), anchor=False)
    settings = app_state().settings
    if settings is None:
        return
    titles = [_(title) for title in SECTIONS]
    tabs = st.tabs(titles, key=state.SECTION, bind="query-params")
    for tab, draw_section in zip(tabs, SECTIONS.values(), strict=True):
        if tab.open:
            with tab:
                draw_section(docmind, settings)


def model(docmind: DocMind, settings: Settings) -> None:
    docmind.models.list(refresh=True)  # a server that has ended since is not in use any more
    language_models.section(docmind, settings)


def answers(docmind: DocMind, _settings: Settings) -> None:
    sections.answers(docmind)
    sections.web(docmind)


def search(docmind: DocMind, settings: Settings) -> None:
    sections.search(docmind)
    text_models.section(docmind, settings)
    visual_models.section(docmind, settings)
    sections.index(docmind, docmind.status())


def reading(docmind: DocMind, _settings: Settings) -> None:
    sections.reading(docmind)
    other_readers.section(docmind)


def privacy(docmind: DocMind, _settings: Settings) -> None:
    sections.security(docmind, docmind.status())
    recovery_section(docmind)
    rotation.section(docmind)
    sections.privacy(docmind)
    network.section(docmind)


def other_programs(docmind: DocMind, _settings: Settings) -> None:
    programs.section(docmind)


def appearance(docmind: DocMind, _settings: Settings) -> None:
    sections.appearance(docmind)


def storage(docmind: DocMind, _settings: Settings) -> None:
    status = docmind.status()
    sections.storage(docmind, status)
    check.section(docmind)
    snapshots.section(docmind)
    bundles.section(docmind)
    sections.components(status)


def evaluation(docmind: DocMind, _settings: Settings) -> None:
    section.section(docmind)


def about(docmind: DocMind, _settings: Settings) -> None:
    sections.about(docmind.status())


SECTIONS: dict[str, _Draw] = {
    N_("Language model"): model,
    N_("Answers"): answers,
    N_("Search"): search,
    N_("Reading"): reading,
    N_("Privacy"): privacy,
    N_("Programs"): other_programs,
    N_("Appearance"): appearance,
    N_("Storage"): storage,
    section.TITLE: evaluation,
    N_("About"): about,
}
