"""LaTeX, Org and reStructuredText, as pandoc reads them and without it."""

from __future__ import annotations

import pytest

from conftest import require
from docmind.blocks import unpack
from docmind.reading import find_pandoc
from docmind.reading.file_type import identify
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.pandoc import MarkedUp
from docmind.records.documents import Loss, Upload
from each import each_of
from mutants import mutants, read_or_refuse

Said = list[tuple[str, int, str]]


def installed() -> str:
    program = find_pandoc()
    require(program, "pandoc is not installed")
    return program


def opened(name: str, text: str, pandoc: str | None = None, seconds: int = 30) -> MarkedUp:
    kind, upload = identify(Upload(name, text.encode()))
    program = installed() if pandoc is None else pandoc
    found = reader(kind)(upload, kind, Rules(pandoc=program, pandoc_s=seconds))
    assert isinstance(found, MarkedUp)
    return found


def said(document: MarkedUp) -> Said:
    """Return kind, level and text of each block; a row's cells are joined by bars."""
    found: Said = []
    for number in range(1, document.pages + 1):
        page = document.page(number)
        for block in unpack(page.blocks, len(page.text)):
            cells = [" ".join(page.text[start:end].split()) for start, end in block.cells]
            text = " | ".join(cells) if cells else " ".join(page.text[block.start : block.end].split())
            found.append((block.kind, block.level, text))
    return found


LATEX = r"""
\documentclass{article}
\newcommand{\rent}[1]{the rent of #1}
\title{On Rents}
\author{Ana Silva\thanks{Univ. of X} \and Bob Ray}
\date{2024-05-02}
\begin{document}
\maketitle
\begin{abstract}We study rents.\end{abstract}
\section{Data}\label{s}
We pay \rent{Flores} and \hl{much more}, see section~\ref{s} and \cite[p.~3]{knuth}.\footnote{Since May.}
\begin{equation}\label{e} r = \frac{a}{b} \end{equation}
\subsection*{No number}
\begin{table}\caption{Prices}\begin{tabular}{lr}\hline Item & Price\\\hline Tea & 3\\ \multicolumn{2}{l}{Both}\\
\end{tabular}\end{table}
\begin{enumerate}[label=(\alph*)]\item first \begin{itemize}\item[--] inner\end{itemize}\item second\end{enumerate}
\begin{lstlisting}[language=Python]
import os
\end{lstlisting}
\appendix
\section{More}
\begin{thebibliography}{9}\bibitem{knuth} Knuth, TAOCP.\end{thebibliography}
\end{document}
"""


def test_latex_is_read_as_it_is_printed() -> None:
    document = opened("rents.tex", LATEX)
    assert (document.engine, document.told) == ("pandoc", "")
    assert (document.facts["title"], document.facts["author"], document.facts["dated"]) == (
        "On Rents", "Ana Silva, Bob Ray", "2024-05-02",
    )  # fmt: skip
    assert said(document) == [
        ("heading", 1, "On Rents"),
        ("paragraph", 0, "Ana Silva[1]"),
        ("footnote", 0, "[1] Univ. of X"),
        ("paragraph", 0, "Bob Ray"),
        ("paragraph", 0, "2024-05-02"),
        ("heading", 2, "Abstract"),
        ("paragraph", 0, "We study rents."),
        ("heading", 2, "1 Data"),
        (
            "paragraph",
            0,
            "We pay the rent of Flores and much more, see section 1 and [knuth, p. 3].[2]",
        ),
        ("footnote", 0, "[2] Since May."),
        ("equation", 0, "r = a/b"),
        ("heading", 3, "No number"),
        ("caption", 0, "Prices"),
        ("header_row", 0, "Item | Price"),
        ("row", 0, "Tea | 3"),
        ("row", 0, "Both | Both"),
        ("item", 0, "(a) first"),
        ("item", 1, "– inner"),
        ("item", 0, "(b) second"),
        ("code", 0, "import os"),
        ("heading", 2, "A More"),
        ("paragraph", 0, "[knuth] Knuth, TAOCP."),
    ]


ORG = """#+TITLE: Garden
#+AUTHOR: Ana
#+OPTIONS: p:nil tags:nil
* TODO Buy bulbs :spring:
DEADLINE: <2024-09-03 Tue>
- [X] tulips
- [ ] lilies
  1. white
| Plant | Cm |
|-------+----|
| Tulip | 12 |
*** COMMENT Later
Not yet[fn:1], x^2 and +never+.

#+begin_src python
import os
#+end_src
\\begin{align}
a &= b
\\end{align}

[fn:1] In May.
"""


def test_org_shows_what_its_editor_shows() -> None:
    document = opened("plants.org", ORG)
    assert document.facts["title"] == "Garden"
    assert said(document) == [
        ("heading", 1, "Garden"),
        ("paragraph", 0, "Ana"),
        ("heading", 2, "TODO Buy bulbs :spring:"),
        ("paragraph", 0, "DEADLINE: <2024-09-03 Tue>"),
        ("item", 0, "☒ tulips"),
        ("item", 0, "☐ lilies"),
        ("item", 1, "1. white"),
        ("header_row", 0, "Plant | Cm"),
        ("row", 0, "Tulip | 12"),
        ("heading", 4, "COMMENT Later"),
        ("paragraph", 0, "Not yet[1], x² and ~~never~~."),
        ("footnote", 0, "[1] In May."),
        ("code", 0, "import os"),
        ("equation", 0, "a = b"),
    ]


RST = """
=====
Ponds
=====

:Author: Ana
:Version: 3

Depth
-----

See :ref:`the map <map>`, :py:func:`~os.path` and :pep:`8` [#]_.

.. [#] A note.

.. warning:: Deep water.

.. py:function:: dive(depth)

   Go down.

term
  its meaning

+------+------+
| cm   | year |
+======+======+
| 12   | 2024 |
+------+------+

.. math:: a^2

c) third
d) fourth

.. figure:: pond.png

   The pond.
"""


def test_restructured_text_with_its_directives_and_roles() -> None:
    document = opened("ponds.rst", RST)
    assert said(document) == [
        ("heading", 1, "Ponds"),
        ("paragraph", 0, "Ana"),
        ("paragraph", 0, "Version: 3"),
        ("heading", 2, "Depth"),
        ("paragraph", 0, "See the map, os.path and PEP 8[1]."),
        ("footnote", 0, "[1] A note."),
        ("paragraph", 0, "Warning: Deep water."),
        ("paragraph", 0, "dive(depth)"),
        ("paragraph", 0, "Go down."),
        ("item", 0, "term: its meaning"),
        ("header_row", 0, "cm | year"),
        ("row", 0, "12 | 2024"),
        ("equation", 0, "a²"),
        ("item", 0, "c) third"),
        ("item", 0, "d) fourth"),
        ("caption", 0, "The pond."),
    ]
    assert document.losses == (Loss("linked_picture", 1, ""),)


@pytest.mark.slow
@each_of(
    "name, text, place",
    [
        ("a.rst", "Words.\n\n.. include:: /etc/passwd\n", "/etc/passwd"),
        ("a.rst", "Words.\n\n.. csv-table:: Users\n   :file: /etc/passwd\n", "/etc/passwd"),
        ("a.rst", "Words.\n\n.. literalinclude:: /etc/passwd\n", "/etc/passwd"),
        ("a.org", "Words.\n#+INCLUDE: \"/etc/passwd\"\n", "/etc/passwd"),
        ("a.tex", "Words. \\input{/etc/passwd}\n", "/etc/passwd.tex"),
        ("a.tex", "Words. \\lstinputlisting{/etc/passwd}\n", "/etc/passwd"),
    ],
)  # fmt: skip
def test_other_files_are_not_read_and_are_told(name: str, text: str, place: str) -> None:
    document = opened(name, text)
    shown = document.page(1).text
    assert "Words." in shown
    assert "root:" not in shown
    assert [(loss.kind, loss.place) for loss in document.losses] == [("part", place)]


@pytest.mark.slow
@each_of(
    "text, reason",
    [
        (r"\section{Pond} \def\a{\a\a}\a", "Loop encountered"),
        (r"\section{Pond} \begin{itemize} \item open", "pandoc cannot read it"),
        (r"\section{Pond} " + r"\begin{itemize}\item " * 300, "took longer than 2 s"),
    ],
)
def test_what_pandoc_refuses_is_read_as_it_is_written(text: str, reason: str) -> None:
    document = opened("a.tex", text, seconds=2)
    assert (document.engine, reason in document.told) == ("", True), document.told
    assert "Pond" in document.page(1).text


def test_without_pandoc_headings_are_known_and_marks_stay() -> None:
    document = opened("a.tex", "\\section{Depth}\nIt is \\emph{deep}.\n", pandoc="")
    assert document.told == "Its marks stay as they are written: pandoc is not installed."
    assert said(document) == [("heading", 2, "Depth"), ("paragraph", 0, "It is \\emph{deep}.")]


@pytest.mark.slow
@each_of("name, text", [("a.tex", LATEX), ("a.org", ORG), ("a.rst", RST)])
def test_mutants_are_read(name: str, text: str) -> None:
    rules = Rules(max_pages=50, image_side_px=400, pandoc=installed(), pandoc_s=2)
    pages = [read_or_refuse(name, mutant, rules) for mutant in mutants(text.encode(), 40)]
    assert sum(map(bool, pages)) >= 35  # the others have no word any more
