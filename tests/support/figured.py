"""A Word document with two pictures, one with a caption, one with an alternative text; and a page with three sizes."""

from __future__ import annotations

import base64
import io
import zipfile

from docx import Document
from docx.shared import Inches
from PIL import Image, ImageDraw

from docmind.records.documents import Upload

CAPTION = "Figure 1: Wiring diagram of the boiler with pump and thermostat"
ALT = "A wooden beehive under an apple tree in the snow"
NAME = "handbook.docx"
SHOWN = (("lightblue", "valve"), ("lightgreen", "boiler"), ("wheat", "pump"))
"""The colours and labels of the pictures of `photos`, the smallest first."""
_THEN = (2024, 1, 1, 0, 0, 0)


def drawing(colour: str, label: str) -> bytes:
    """Return a picture of 640 x 400 pixels, as PNG."""
    image = Image.new("RGB", (640, 400), colour)
    pen = ImageDraw.Draw(image)
    pen.rectangle((40, 60, 600, 340), outline="black", width=6)
    pen.ellipse((220, 100, 420, 300), fill="gold", outline="black", width=5)
    for number in range(6):
        pen.line((60, 80 + 40 * number, 210, 90 + 35 * number), fill="black", width=2 + number)
        pen.text((440, 80 + 40 * number), f"{label} part {number}", fill="black", font_size=20)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def handbook(name: str = NAME, *, captioned: str = CAPTION) -> Upload:
    """Return the document, with the same bytes each time: page 1 has the caption, page 2 the alternative text."""
    made = Document()
    made.add_heading("Boiler handbook", 1)
    made.add_paragraph("The boiler of the house is checked every autumn before the heating season begins.")
    made.add_paragraph().add_run().add_picture(io.BytesIO(drawing("lightblue", "boiler")), width=Inches(4))
    made.add_paragraph(captioned, style="Caption")
    made.add_paragraph("The pump is connected to the left terminal. Call the service if the lamp stays red.")
    made.add_page_break()
    made.add_heading("Beehives", 1)
    made.add_paragraph("The hives stand behind the shed and face south.")
    shape = made.add_paragraph().add_run().add_picture(io.BytesIO(drawing("lightgreen", "hive")), width=Inches(3))
    shape._inline.docPr.set("descr", ALT)
    made.add_paragraph("Honey is taken in July.")
    written, whole = io.BytesIO(), io.BytesIO()
    made.save(written)
    with zipfile.ZipFile(written) as parts, zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in parts.namelist():
            archive.writestr(zipfile.ZipInfo(part, _THEN), parts.read(part))
    return Upload(name, whole.getvalue())


def photos() -> Upload:
    """Return a web page with three pictures: small, medium and large."""
    pictures = []
    for (colour, label), size in zip(SHOWN, ((160, 100), (640, 400), (960, 600)), strict=True):
        scaled, out = Image.open(io.BytesIO(drawing(colour, label))).resize(size), io.BytesIO()
        scaled.save(out, "PNG")
        data = base64.b64encode(out.getvalue()).decode()
        shown = f'<img src="data:image/png;base64,{data}">'
        pictures.append(f"<figure>{shown}<figcaption>The {label} of the boiler</figcaption></figure>")
    said = "<h1>The boiler</h1><p>Three pictures of it.</p>" + "".join(pictures)
    return Upload("photos.html", said.encode())
