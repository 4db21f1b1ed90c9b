"""Parts of a page that are drawn in the browser: components of Streamlit whose scripts are files of this package.

As files of the server they are allowed by the Content-Security-Policy of `guard`, which forbids scripts made of text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamlit.components.v2 import component, get_bidi_component_manager
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest
from streamlit.components.v2.types import ComponentRenderer

_PACKAGE = "docmind"


def browser_part(folder: Path, name: str, *, data: Mapping[str, Any] | None = None, key: str, **options: Any) -> None:
    """Draw the part whose files `name.js` and `name.css` are in `folder`. Call this in the run of a page.

    The script's default export gets `parentElement`, `data: [data]`, `setStateValue` and `setTriggerValue`; it must
    treat every text in `data` as hostile and set it with `textContent`. `options` are those of Streamlit's components.

    The data are in a list of one because Streamlit looks for tables in the values of a dictionary: to know one it
    imports pandas, which takes 0.4 s of the first page and 60 MB.
    """
    manager, full_name = get_bidi_component_manager(), f"{_PACKAGE}.{name}"
    if manager.get_component_path(full_name) is None:
        _register(manager, folder, name)
    css = f"{name}.css" if (folder / f"{name}.css").exists() else None
    draw: ComponentRenderer = component(full_name, js=f"{name}.js", css=css, isolate_styles=False)
    draw(data=None if data is None else [data], key=key, **options)


def _register(manager: BidiComponentManager, folder: Path, name: str) -> None:
    part = ComponentConfig(name=name, asset_dir=folder.name)
    manager.register_from_manifest(ComponentManifest(name=_PACKAGE, version="1", components=[part]), folder.parent)
