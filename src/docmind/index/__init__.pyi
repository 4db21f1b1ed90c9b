from .blinding import Blinder
from .engine import Query, Scored, Sparse
from .engines import AtRest, capabilities, open_index
from .schema import COLPALI_DIM, MOST_TOKENS, SIGLIP_DIM
from .search_index import SearchIndex
from .sync import IndexSync, Report, widened

__all__ = [
    "COLPALI_DIM",
    "MOST_TOKENS",
    "SIGLIP_DIM",
    "AtRest",
    "Blinder",
    "IndexSync",
    "Query",
    "Report",
    "Scored",
    "SearchIndex",
    "Sparse",
    "capabilities",
    "open_index",
    "widened",
]
