from .calls import API, CALLS, IMAGES, Call
from .client import Client, connect, result_of
from .codec import ARRAYS, OBJECTS, UNIONS, decode, encode, hints_of, is_binary, is_box, is_text, needed_of
from .named import Parameter, filter_parameters, filters_of, parameters, query_of

__all__ = [
    "API",
    "ARRAYS",
    "CALLS",
    "IMAGES",
    "OBJECTS",
    "UNIONS",
    "Call",
    "Client",
    "Parameter",
    "connect",
    "decode",
    "encode",
    "filter_parameters",
    "filters_of",
    "hints_of",
    "is_binary",
    "is_box",
    "is_text",
    "needed_of",
    "parameters",
    "query_of",
    "result_of",
]
