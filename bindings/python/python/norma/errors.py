"""Exceptions, by who can fix the cause.

Every exception of Norma's own is an :class:`Error`. A call that raises one has launched nothing, but for a :class:`DriverError`: the driver
may refuse a later kernel of a function, for example one whose clusters do not fit the GPU.
"""


class Error(Exception):
    """The base of all exceptions here."""


class CompileError(Error):
    """The compiler refused a program; the message is the compiler's, with the lines of the source that it refers to."""


class CompilerNotFoundError(CompileError):
    """No compiler was found."""


class BundleError(Error):
    """A bundle is incomplete, or has no code for the GPU."""


class FunctionNotFoundError(Error, KeyError):
    """A bundle has no function with that name."""

    # KeyError shows its message in quotes.
    __str__ = Error.__str__


class ArgumentError(Error, ValueError):
    """A tensor is not one that the kernels are made for; the message names it, what was expected, and what was passed."""


class DriverError(Error, RuntimeError):
    """There is no driver or no GPU, or the driver failed."""


class UnsupportedError(Error, NotImplementedError):
    """Norma has no kernel for an operation with these options or tensors."""
