"""The parts of Settings that free space and list what tried to reach other computers."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from desks import opened
from docmind.network import network_ledger


def page(docmind):  # type: ignore[no-untyped-def]
    from docmind.ui.settings import garbage, network

    garbage.line(docmind)
    network.section(docmind)


@pytest.mark.slow
def test_space_is_freed_and_the_network_listed(tmp_path: Path) -> None:
    network_ledger().refuse("telemetry.invalid:443")
    with opened(tmp_path) as docmind:
        app = AppTest.from_function(page, kwargs={"docmind": docmind}, default_timeout=60).run()
        assert not app.exception
        assert "Nothing to free: everything stored is in use." in [text.value for text in app.markdown]
        assert any("refused since" in text.value for text in app.markdown)
        assert "telemetry.invalid:443" in app.dataframe[0].value["Address"].tolist()
        docmind.vault.artifacts.put(b"lost" * 1000, ".webp.enc")
        docmind.garbage.prune()
        with docmind.vault.database.transaction() as db:
            db.execute("UPDATE ages SET since_ms = -99 * 86400000")
        app.run()
        assert "can be freed: 1 file" in app.markdown[0].value
        app.button(key="garbage-free").click().run()
        assert "freed" in app.success[0].value
        assert not app.exception
        assert docmind.garbage.prune(dry_run=True).files == ()
