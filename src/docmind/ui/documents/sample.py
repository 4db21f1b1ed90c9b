"""A made-up document to try DocMind with: a lease of three pages, drawn when it is asked for."""

from __future__ import annotations

import io

SAMPLE_NAME = "sample-lease.pdf"

_PAGES = (
    (
        "Lease of a flat",
        "This lease is made up. It is here so that you can try DocMind, and can be deleted like any document.",
        "Between Harbour Homes Ltd (the landlord) and Ada Finch (the tenant).",
        "1. The flat. The landlord lets the flat on the second floor of 14 Lantern Street, with two rooms, a kitchen, "
        "a bathroom and cellar room number 7.",
        "2. Term. The lease begins on 1 March 2026 and has no fixed end.",
        "3. Rent. The rent is 940 a month. It is due on the third working day of each month. Heating and water cost "
        "another 160 a month, which are settled once a year.",
        "4. Deposit. The tenant pays a deposit of two months' rent, 1,880, before the keys are handed over. It is paid "
        "back within six weeks of the end of the lease.",
    ),
    (
        "House and repairs",
        "5. Repairs. Repairs of up to 120 are paid by the tenant, at most 480 a year. All others are paid by the "
        "landlord, who begins within ten days of being told.",
        "6. Pets. Small animals in cages need no permission. A dog or a cat needs the landlord's written consent.",
        "7. Noise. Between 10 in the evening and 7 in the morning the house is quiet.",
        "8. Visits. The landlord may enter the flat after giving notice of at least 48 hours, except in an emergency.",
        "9. Subletting. The tenant may sublet one room with the landlord's written consent, which is not refused "
        "without a good reason.",
    ),
    (
        "The end of the lease",
        "10. Notice. The tenant may end the lease with notice of three months to the end of a month. Notice is given "
        "in writing.",
        "11. The landlord may end the lease with notice of six months, and only for a reason that the law names.",
        "12. Handing over. The tenant hands over the flat clean and with all five keys. Walls in strong colours are "
        "painted white.",
        "13. The inventory lists what is in the kitchen: a stove bought in 2023, a refrigerator and a dishwasher with "
        "a warranty until 30 September 2027.",
        "Signed on 12 February 2026.",
    ),
)


def sample_document() -> bytes:
    """Return the sample as a PDF, the same bytes each time."""
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer

    title = ParagraphStyle("title", fontName="Helvetica-Bold", fontSize=20, leading=26, spaceAfter=14)
    text = ParagraphStyle("text", fontName="Helvetica", fontSize=11.5, leading=17, spaceAfter=10)
    parts = []
    for heading, *paragraphs in _PAGES:
        parts += [Paragraph(heading, title), Spacer(1, 6), *(Paragraph(one, text) for one in paragraphs), PageBreak()]
    written = io.BytesIO()
    SimpleDocTemplate(
        written, pagesize=A4, leftMargin=72, rightMargin=72, topMargin=72, bottomMargin=72,
        title="Sample lease", invariant=1,
    ).build(parts[:-1])  # fmt: skip
    return written.getvalue()
