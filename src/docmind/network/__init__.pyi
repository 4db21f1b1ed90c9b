from .endpoint import Connection, Endpoint, Resolve, at_socket, fetch, permit, resolve_here
from .guard import Guard, GuardState, Mode, network_guard
from .ledger import Ledger, network_ledger
from .web_page import WebPage, fetch_page
from .web_search import search_web

__all__ = [
    "Connection",
    "Endpoint",
    "Guard",
    "GuardState",
    "Ledger",
    "Mode",
    "Resolve",
    "WebPage",
    "at_socket",
    "fetch",
    "fetch_page",
    "network_guard",
    "network_ledger",
    "permit",
    "resolve_here",
    "search_web",
]
