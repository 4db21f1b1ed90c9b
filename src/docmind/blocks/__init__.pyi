from .given import IMPORTS, Block, BlockKind, Blocks, Cell, CellType, Losses, Picture, Symbols, Table, shown_in
from .placed import Cells, PageBlock, PageKind, PageTable, Raws, may_have_tables, pack, unpack
from .told import loss_text, losses_text

__all__ = [
    "IMPORTS",
    "Block",
    "BlockKind",
    "Blocks",
    "Cell",
    "CellType",
    "Cells",
    "Losses",
    "PageBlock",
    "PageKind",
    "PageTable",
    "Picture",
    "Raws",
    "Symbols",
    "Table",
    "loss_text",
    "losses_text",
    "may_have_tables",
    "pack",
    "shown_in",
    "unpack",
]
