"""torch's tensors as arguments of bundles, as far as this can be tested without a GPU: they are borrowed, and refused as host memory."""

import pytest
import torch

import norma


@pytest.mark.parametrize("make", [torch.ones, lambda *shape: torch.nn.Parameter(torch.ones(*shape))])
@torch.no_grad()
def test_parameters_are_borrowed_where_no_gradients_are_recorded(scale, make):
    x = make(3, 64)
    with pytest.raises(norma.ArgumentError, match="expected 'x' to be in the memory of a GPU, got host memory"):
        scale(x, out=torch.empty(3))
    with pytest.raises(norma.ArgumentError, match="expected 'x' to be in the memory of a GPU"):
        scale.launch_viewed(x, torch.empty(3))


def test_new_outputs_are_of_the_inputs_type(scale):
    # The output is allocated before the wrong device is detected; if the allocation failed, another error would be raised.
    with pytest.raises(norma.ArgumentError, match="expected 'x' to be in the memory of a GPU"):
        scale(torch.ones(3, 64))
