"""Keep matrix libraries from starting threads of their own while the simulations use the cores."""

from collections.abc import Callable
from contextlib import AbstractContextManager


def one_thread_each() -> Callable[[], AbstractContextManager[object]]:
    """A context in which NumPy's and torch's matrix products run in the calling thread.

    The products of one block are far too small to share, and threads that wait for each other
    slow the simulations down several times. It also makes them independent of the thread count.
    """
    from threadpoolctl import ThreadpoolController

    controller = ThreadpoolController()  # looks for the libraries once; limiting is then quick
    return lambda: controller.limit(limits=1)
