"""The one exception for a user's mistake."""


class InputError(ValueError):
    """Something the user gave does not fit.

    The message is one line for a person: what was received, what is allowed, and the remedy. The
    command line prints it without a traceback and exits with code 2.
    """
