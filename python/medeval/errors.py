"""The one exception that a user is meant to see."""


class UserError(Exception):
    """Bad usage or bad input: printed as a plain sentence, exit code 2, no traceback.

    The message says what is wrong, where (file, row, column, key) and what to do next.
    """
