"""Modules with the parameters and arguments of those of ``torch.nn``, so that state dictionaries are interchangeable."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from norma.errors import UnsupportedError
from norma.torch import functional


class RMSNorm(nn.RMSNorm):
    """``torch.nn.RMSNorm`` with Norma's kernels.

    ``weight_offset`` is added to the weight; if it is 1, weights are initialized to 0.
    """

    #: That of modules whose class was set to this one.
    weight_offset: float = 0.0

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        *,
        weight_offset: float = 0.0,
    ) -> None:
        if weight_offset != 0 and not elementwise_affine:
            raise UnsupportedError(f"expected elementwise_affine for weight_offset {weight_offset}, got False")
        # The constructor of torch's module resets the parameters, which needs the offset; attributes of a module cannot be
        # set normally before it.
        object.__setattr__(self, "weight_offset", float(weight_offset))
        # Torch declares fewer types than it takes.
        super().__init__(normalized_shape, eps, elementwise_affine, device, dtype)  # type: ignore[arg-type]

    def reset_parameters(self) -> None:
        """Initializes the weight so that weight and offset add up to 1."""
        if self.elementwise_affine:
            nn.init.constant_(self.weight, 1.0 - self.weight_offset)

    def extra_repr(self) -> str:
        """torch's description, with the offset if there is one."""
        described: str = super().extra_repr()
        return f"{described}, weight_offset={self.weight_offset}" if self.weight_offset else described

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps, weight_offset=self.weight_offset)


class LayerNorm(nn.LayerNorm):
    """``torch.nn.LayerNorm`` with Norma's kernels."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)
