from .blinding import Blinder
from .engine import Scored, Sparse, VectorQuery
from .engines import AtRest, capabilities, open_index
from .private_folder import foreign_files
from .schema import COLPALI_DIM, MOST_TOKENS, SIGLIP_DIM, check_payload
from .search_index import SearchIndex
from .sync import IndexSync, Report, widened

__all__ = [
    "COLPALI_DIM",
    "MOST_TOKENS",
    "SIGLIP_DIM",
    "AtRest",
    "Blinder",
    "IndexSync",
    "Report",
    "Scored",
    "SearchIndex",
    "Sparse",
    "VectorQuery",
    "capabilities",
    "check_payload",
    "foreign_files",
    "open_index",
    "widened",
]
