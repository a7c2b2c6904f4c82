"""What goes wrong, by who can put it right.

Every exception of Norma's own is an :class:`Error`. A call that raises one has launched nothing.
"""


class Error(Exception):
    """The base of all exceptions here."""


class CompileError(Error):
    """The compiler refused a program; the message is what it says, with the lines of the source that it points at."""


class CompilerNotFoundError(CompileError):
    """There is no compiler where one is looked for."""


class BundleError(Error):
    """A bundle is not whole, or has nothing for the GPU."""


class FunctionNotFoundError(Error, KeyError):
    """A bundle has no function of that name."""

    # A KeyError shows its message in quotes.
    __str__ = Error.__str__


class ArgumentError(Error, ValueError):
    """A tensor is not what the kernels are made for; the message names it, and says what was expected and what came."""


class DriverError(Error, RuntimeError):
    """There is no driver or no GPU, or the driver failed."""


class UnsupportedError(Error, NotImplementedError):
    """Norma has no kernel for an operation with these options or tensors."""
