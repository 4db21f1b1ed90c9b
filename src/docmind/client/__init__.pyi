from .calls import API, CALLS, Call
from .client import Client, connect, result_of
from .codec import ARRAYS, OBJECTS, UNIONS, decode, encode, hints_of, is_box, is_text, needed_of

__all__ = [
    "API",
    "ARRAYS",
    "CALLS",
    "OBJECTS",
    "UNIONS",
    "Call",
    "Client",
    "connect",
    "decode",
    "encode",
    "hints_of",
    "is_box",
    "is_text",
    "needed_of",
    "result_of",
]
