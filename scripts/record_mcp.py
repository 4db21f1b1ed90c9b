"""Record one session of each MCP tool into docs/mcp.md, with the official client over a real `docmind mcp`.

    .venv/bin/python scripts/record_mcp.py

The library is made for it and thrown away; the text model is the one that is installed.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "tests")]

from assistants import over_stdio  # noqa: E402
from desks import text_pdf  # noqa: E402
from docmind import DocMind, Settings  # noqa: E402
from docmind.config import KeySettings, LLMSettings, ReadingSettings  # noqa: E402
from docmind.records.documents import Upload  # noqa: E402

PAGE = ROOT / "docs" / "mcp.md"
_SHOWN = 24  # characters of base64


def calls(inbox: Path) -> dict[str, dict[str, Any]]:
    """Return the arguments of the call of each tool that is recorded."""
    return {
        "search": {"question": "Where do herons nest?", "k": 1, "include_images": True, "images": 1},
        "ask": {"question": "Where do herons nest?"},
        "check_text": {"draft": "Herons nest in tall trees."},
        "list_all": {"words": "herons"},
        "compare_versions": {"before": "lease 2024.txt", "after": "lease 2025.txt"},
        "list_documents": {"find": "herons"},
        "get_page": {"document": "herons.pdf", "page_no": 2, "region": [130, 150, 500, 60], "include_image": True},
        "page_lines": {"document": "herons.pdf", "page_no": 2},
        "get_original": {"document": "note.txt"},
        "ingest": {"paths": [str(inbox / "owls.txt")], "tags": ["birds"], "language": "en", "wait_s": 60},
        "jobs": {"newest": 1},
    }


async def recorded(environment: dict[str, str], inbox: Path) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return request and result of each tool, as JSON; base64 and repeated texts are cut."""
    found = {}
    async with over_stdio(environment) as client:
        for name, arguments in calls(inbox).items():
            result = await client.call_tool(name, arguments)
            told = result.model_dump(mode="json", by_alias=True, exclude_none=True)
            told["content"][0]["text"] = "(structuredContent as JSON)"
            found[name] = ({"name": name, "arguments": arguments}, _cut(told))
    return found


def _cut(told: Any) -> Any:
    if isinstance(told, dict):
        return {
            name: f"{value[:_SHOWN]}…" if name in ("data", "blob") and len(value) > _SHOWN else _cut(value)
            for name, value in told.items()
            if name != "_meta"
        }
    return [_cut(one) for one in told] if isinstance(told, list) else told


def blocks(text: str) -> dict[str, list[str]]:
    """Return the JSON blocks below the heading of each tool in docs/mcp.md."""
    parts = re.split(r"^### `([a-z_]+)`$", text, flags=re.MULTILINE)[1:]
    return {
        name: re.findall(r"^```json\n(.*?)\n```$", body.partition("\n## ")[0], re.MULTILINE | re.DOTALL)
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }


def written(text: str, session: dict[str, tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """Return docs/mcp.md with this session in the place of the one before."""
    for name, (request, result) in session.items():
        head, heading, rest = text.partition(f"### `{name}`\n")
        for made in (_pretty(request), _pretty(result)):
            before, fence, after = rest.partition("```json\n")
            head, heading, rest = head + heading + before + fence + made, "\n```", after.partition("\n```")[2]
        text = head + heading + rest
    return text


def _pretty(told: dict[str, Any]) -> str:
    """Return JSON with short objects and arrays on one line."""
    text = json.dumps(told, indent=2, ensure_ascii=False)
    inner = re.compile(r"([\[{])\n\s+([^\[\]{}]*?)\n\s+([\]}])")
    return inner.sub(lambda found: found[1] + re.sub(r"\n\s+", " ", found[2]) + found[3], text)


def main() -> int:
    """Make the library, record the session, and write the page."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        inbox = folder / "inbox"
        inbox.mkdir()
        (inbox / "owls.txt").write_text("Owls hunt at night and swallow their prey whole.", "utf-8")
        settings = Settings(
            data_dir=folder / "data",
            keys=KeySettings(source="file", file=folder / "key"),
            llm=LLMSettings(provider="off"),
            reading=ReadingSettings(ocr="off"),
        )
        with DocMind(settings) as docmind:
            herons = text_pdf(["Herons wait in shallow water for fish.", "Herons nest in tall trees near rivers."])
            docmind.add([Upload("herons.pdf", herons), Upload("note.txt", b"Kingfishers dive into clear rivers.")])
            for year, rent in ((2024, 900), (2025, 950)):
                lease = f"The rent of the mill house is {rent} crowns a month. It is due on the third day."
                docmind.add([Upload(f"lease {year}.txt", lease.encode())])
        environment = {
            "DOCMIND_DATA_DIR": str(folder / "data"), "DOCMIND_KEYS__SOURCE": "file",
            "DOCMIND_KEYS__FILE": str(folder / "key"), "DOCMIND_LLM__PROVIDER": "off", "DOCMIND_READING__OCR": "off",
            "DOCMIND_MCP__FOLDERS": str(inbox),
        }  # fmt: skip
        session = anyio.run(recorded, environment, inbox)
        text = written(PAGE.read_text("utf-8"), session).replace(str(inbox), "/home/you/inbox")
        PAGE.write_text(text, "utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(session)} tools")
    return 0


if __name__ == "__main__":
    sys.exit(main())
