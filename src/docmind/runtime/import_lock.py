"""A lock for imports of large libraries.

Where two threads import different parts of a package with circular imports, as LlamaIndex has them, each can see
partly initialized modules of the other: an intermittent `ImportError`.
"""

import threading

ALONE = threading.RLock()
