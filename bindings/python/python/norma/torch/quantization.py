"""What a quantization is: its blocks and types, and the shapes that follow from them."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

#: Two floats of 4 bits in a byte, the element of the even column in its low bits.
PACKED = torch.float4_e2m1fn_x2

LINEAR, COLUMN_MAJOR, SWIZZLED = "linear", "column_major", "swizzled_128x4"
LAYOUTS = (LINEAR, COLUMN_MAJOR, SWIZZLED)


class Quantization(NamedTuple):
    """The options of a quantization.

    ``block`` is empty for one scale of the whole tensor. Otherwise it is the number of rows and of columns that share a scale,
    where 0 stands for all columns. Extents may be symbolic.
    """

    block: tuple[int, ...]
    dtype: torch.dtype
    scale_dtype: torch.dtype
    layout: str
    power_of_two: bool = False
    round_down: bool = False

    @property
    def is_packed(self) -> bool:
        return self.dtype == PACKED

    @property
    def is_swizzled(self) -> bool:
        return self.layout == SWIZZLED

    @property
    def needs_matrices(self) -> bool:
        """Whether blocks span several rows, so that the dim before the last one cannot be merged with those before it."""
        return bool(self.block) and self.block[0] != 1

    def packed(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the quantized elements of a tensor with this shape."""
        return (*shape[:-1], shape[-1] // 2) if self.is_packed else tuple(shape)

    def unpacked(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a tensor whose quantized elements have this shape."""
        return (*shape[:-1], shape[-1] * 2) if self.is_packed else tuple(shape)

    def blocks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers of blocks along the dims of a tensor: the shape of its scales in the linear layout."""
        if not self.block:
            return ()
        rows, columns = self.block
        leading = tuple(shape[:-1])
        if self.needs_matrices:
            leading = (*shape[:-2], ceildiv(shape[-2], rows))
        return (*leading, ceildiv(shape[-1], columns)) if columns else leading

    def stored(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape in which a kernel reads or writes the scales of a tensor. In a layout other than the linear one, all dims before
        the last one are one dim of rows, unless a block spans several rows."""
        blocks = self.blocks(shape)
        if self.layout == LINEAR:
            return blocks
        *leading, columns = blocks
        if self.is_swizzled:
            return (ceildiv(math.prod(leading), 128), ceildiv(columns, 4), 32, 4, 4)
        if self.needs_matrices:
            *batch, rows = leading
            return (*batch, columns, rows)
        return (columns, math.prod(leading))

    def shown(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape in which callers see the scales of a tensor: column-major ones have the shape of linear ones, and other strides."""
        return self.stored(shape) if self.is_swizzled else self.blocks(shape)

    def show(self, scale: Tensor, shape: tuple[int, ...]) -> Tensor:
        """The scales that a kernel stored for a tensor of this shape, as callers see them."""
        return scale.mT.view(self.blocks(shape)) if self.layout == COLUMN_MAJOR else scale

    def hide(self, scale: Tensor) -> Tensor:
        """The inverse of :meth:`show`: scales in the order in which a kernel reads them."""
        if self.layout != COLUMN_MAJOR:
            return scale
        rows = scale if self.needs_matrices else scale.reshape(-1, scale.shape[-1])
        return rows.mT.contiguous()


def rows_of(shape: tuple[int, ...], dims: int) -> tuple[int, ...]:
    """The shape of a tensor whose last ``dims`` dims are merged into one, as a row of a kernel."""
    return (*shape[: len(shape) - dims], math.prod(shape[len(shape) - dims :]))


def ceildiv(a: int, b: int) -> int:
    return (a + b - 1) // b
