"""torch on a machine without a GPU: tensors are the host's; functions are compiled, but their definitions are evaluated instead."""

import pytest

torch = pytest.importorskip("torch", reason="cargo xtask test --torch installs torch")

from reference import Reference, ReferenceCache  # noqa: E402


@pytest.fixture
def references(monkeypatch):
    """Makes the ops of norma.torch run on the host; returns the list of the functions that were compiled, in order."""
    from norma.torch import kernels, launches, library, support

    made = []

    def compile(device, source):
        made.append(Reference(source))
        return made[-1]

    monkeypatch.setattr(kernels, "_compile", compile)
    monkeypatch.setattr(kernels, "_functions", {})
    monkeypatch.setattr(kernels, "SignatureCache", ReferenceCache)
    for op in vars(launches).values():
        if isinstance(op, kernels.Op):
            monkeypatch.setattr(op, "_caches", {})
    monkeypatch.setattr(support, "_is_on_gpu", lambda tensor: tensor.device.type == "cpu")
    for op in (
        library.rms_norm,
        library.add_rms_norm,
        library.rms_norm_grad,
        library.layer_norm,
        library.layer_norm_grad,
        library.softmax,
        library.log_softmax,
        library.softmax_grad,
        library.log_softmax_grad,
        library.top_k,
        library.top_k_grad,
        library.cross_entropy,
        library.cross_entropy_grad,
        library.quantize,
        library.dequantize,
        library.rms_norm_quantize,
        library.router,
    ):
        op.register_kernel("cpu")(op._init_fn)
    return made


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture(params=["eager", "ops"])
def path(request, monkeypatch):
    """Both paths of a call: the direct launch, and the op that graphs contain."""
    from norma.torch import functional, gradients

    if request.param == "ops":
        for module in (gradients, functional):
            monkeypatch.setattr(module, "is_plain", lambda x: False)
    return request.param
