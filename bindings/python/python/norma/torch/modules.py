"""Modules with the parameters and arguments of those of ``torch.nn``, so that state dictionaries are interchangeable."""

from torch import Tensor, nn

from norma.torch import functional


class RMSNorm(nn.RMSNorm):
    """``torch.nn.RMSNorm`` with Norma's kernels.

    ``weight_offset`` is added to the weight; if it is 1, weights are initialized to 0.
    """

    def __init__(
        self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None, *, weight_offset=0.0
    ):
        # The constructor of torch's module resets the parameters, which needs the offset; attributes of a module cannot be
        # set normally before it.
        object.__setattr__(self, "weight_offset", float(weight_offset))
        super().__init__(normalized_shape, eps, elementwise_affine, device, dtype)

    def reset_parameters(self) -> None:
        """Initializes the weight so that weight and offset add up to 1."""
        if self.elementwise_affine:
            nn.init.constant_(self.weight, 1.0 - self.weight_offset)

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps, weight_offset=self.weight_offset)


class LayerNorm(nn.LayerNorm):
    """``torch.nn.LayerNorm`` with Norma's kernels."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)
