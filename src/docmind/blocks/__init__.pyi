from .given import Block, BlockKind, Blocks, Cell, CellType, Losses, Table, shown_in
from .placed import Cells, PageBlock, PageKind, PageTable, pack, unpack

__all__ = [
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
    "Table",
    "pack",
    "shown_in",
    "unpack",
]
