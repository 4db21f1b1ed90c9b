"""One thread at a time imports a large library.

Two threads that import different parts of a package whose modules need each other, as LlamaIndex's do, would each see
modules that the other has only begun: an `ImportError` that comes and goes.
"""

import threading

ALONE = threading.RLock()
