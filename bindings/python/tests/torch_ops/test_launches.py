"""What calls in eager mode launch, and on which tensors: torch's tensors of the host, with the stand-in for the driver."""

import pytest
import torch
from stub_torch import take_hosts_tensors
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import norma
import norma.torch as nt
from norma.torch import gradients, kernels, launches, library


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    take_hosts_tensors(monkeypatch.setattr)
    monkeypatch.setattr(kernels, "_functions", {})
    for op in vars(launches).values():
        if isinstance(op, kernels.Op):
            monkeypatch.setattr(op, "_caches", {})


def symbols(lines):
    return [line.split()[0] for line in lines]


def addresses(line):
    return [int(word, 16) for word in line.split("parameters ")[1].split()]


def test_one_function_serves_any_number_of_rows(launched):
    weight = torch.randn(64)
    for shape in ((3, 64), (5, 64), (2, 4, 64), (0, 64)):
        x = torch.randn(shape)
        y = nt.rms_norm(x, (64,), weight)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        if x.numel():
            assert addresses(launched()[-1])[:3] == [x.data_ptr(), weight.data_ptr(), y.data_ptr()]
    assert symbols(launched()) == ["rms_norm_0"] * 3 and len(kernels._functions) == 1


def test_gradients_have_the_types_and_shapes_of_what_they_are_of(launched):
    x = torch.randn(4, 8, 8, dtype=torch.bfloat16, requires_grad=True)
    weight = torch.nn.Parameter(torch.randn(8, 8))
    for _ in range(2):
        y = nt.rms_norm(x, (8, 8), weight)
        dx, dweight = torch.autograd.grad(y, (x, weight), torch.ones_like(y))
        assert (dx.shape, dx.dtype, dweight.shape, dweight.dtype) == (x.shape, x.dtype, weight.shape, weight.dtype)
    assert symbols(launched()).count("rms_norm_0") == 2 and len(kernels._functions) == 2


def test_what_is_not_dense_or_aligned_is_copied(launched):
    wide = torch.randn(3, 128)
    nt.rms_norm(wide[:, :64].contiguous(), (64,))
    nt.rms_norm(wide[:, :64], (64,))
    nt.rms_norm(torch.randn(3 * 64 + 1)[1:].view(3, 64), (64,))
    assert len(launched()) == 3
    assert all(addresses(line)[0] % 16 == 0 for line in launched())


def test_a_known_function_takes_no_tensors_of_another_kind(launched):
    x, weight = torch.randn(8, 64), torch.randn(64)
    nt.rms_norm(x, (64,), weight)
    for call in (
        lambda: nt.rms_norm(x, (64,), torch.randn(65)),
        lambda: nt.rms_norm(x, (64,), torch.randn(1, 64)),
        lambda: nt.rms_norm(x.double(), (64,), weight),
        lambda: nt.rms_norm(x, (64,), weight.double()),
        lambda: nt.rms_norm(x, (8, 64), weight),
        lambda: nt.rms_norm(x, (32,), weight[:32]),
        lambda: nt.add_rms_norm(x, x[:4], (64,), weight),
    ):
        with pytest.raises(norma.UnsupportedError):
            call()
    assert len(launched()) == 1


def test_a_mean_of_losses_is_one_call_of_two_kernels(launched):
    logits = torch.randn(6, 50, requires_grad=True)
    target = torch.randint(0, 50, (6,))
    loss = nt.cross_entropy(logits, target)
    assert (loss.shape, loss.dtype) == ((), torch.float32)
    assert symbols(launched()) == ["cross_entropy_0", "cross_entropy_1"]
    loss.backward()
    assert logits.grad.shape == logits.shape
    assert symbols(launched())[2:] == ["cross_entropy_grad_0"]


@pytest.mark.parametrize("shape", [(6, 640), (2, 3, 640), (130, 640), (1, 640), (640,)])
@pytest.mark.parametrize(
    "options",
    [
        {"block": (1, 0)},
        {"block": (1, 128)},
        {"block": (1, 128), "scale_layout": "column_major"},
        {"block": (1, 160), "scale_dtype": torch.float8_e8m0fnu, "scale_layout": "swizzled_128x4"},
        {
            "block": (1, 16),
            "dtype": torch.float4_e2m1fn_x2,
            "scale_dtype": torch.float8_e4m3fn,
            "tensor_scale": torch.ones(()),
        },
        {"block": (), "scale": torch.ones(()), "dtype": torch.int8},
    ],
    ids=str,
)
def test_each_quantization_is_one_launch_with_new_results(launched, shape, options):
    x, weight = torch.randn(shape, dtype=torch.bfloat16), torch.randn(640, dtype=torch.bfloat16)
    meta = {name: value for name, value in options.items() if name in ("block", "scale_layout", "tensor_scale")}
    for _ in range(2):
        q, scale = nt.quantize(x, **options)
        back = nt.dequantize(q, scale, **meta)
        assert (back.shape, back.dtype) == (x.shape, torch.bfloat16)
        results = nt.add_rms_norm_quantize(x, x, (640,), weight, **options, output_dtype=torch.bfloat16)
        assert [(one.shape, one.dtype) for one in results[2:]] == [(x.shape, x.dtype)] * 2
        for got, of in zip(results[:2], (q, scale), strict=True):
            assert (got.shape, got.dtype, got.stride()) == (of.shape, of.dtype, of.stride())
    assert symbols(launched()) == ["quantize_0", "dequantize_0", "add_rms_norm_quantize_0"] * 2
    assert len(kernels._functions) == 3
    assert q.shape == ((*shape[:-1], 320) if q.dtype == torch.float4_e2m1fn_x2 else shape)


def test_quantized_squares_of_any_number_of_matrices_are_one_function(launched):
    for batch, rows in (((), 200), ((), 64), ((), 0)):
        q, scale = nt.quantize(torch.randn(*batch, rows, 576), (128, 128))
        assert (q.shape, scale.shape) == ((*batch, rows, 576), (*batch, -(-rows // 128), 5))
        assert nt.dequantize(q, scale, (128, 128)).shape == q.shape
    assert len(kernels._functions) == 2 and len(launched()) == 4
    for batch, rows in (((3,), 200), ((2, 3), 64), ((2, 0), 64)):
        for layout in ("linear", "column_major"):
            q, scale = nt.quantize(torch.randn(*batch, rows, 576), (128, 128), scale_layout=layout)
            assert (q.shape, scale.shape) == ((*batch, rows, 576), (*batch, -(-rows // 128), 5))
            assert nt.dequantize(q, scale, (128, 128), scale_layout=layout).shape == q.shape
    assert len(kernels._functions) == 6 and len(launched()) == 12


def test_a_router_is_one_launch(launched):
    logits, bias = torch.randn(2, 3, 128, dtype=torch.bfloat16), torch.randn(128)
    for options in ({}, {"scoring": "sigmoid", "bias": bias, "scale": 2.5}):
        weights, experts = nt.router(logits, 8, **options)
        assert (weights.shape, weights.dtype) == ((2, 3, 8), torch.float32)
        assert (experts.shape, experts.dtype) == ((2, 3, 8), torch.int32)
    assert nt.router(logits[:0], 8)[0].shape == (0, 3, 8)
    assert nt.router(logits[0, 0], 8)[0].shape == (8,)
    assert symbols(launched()) == ["router_0"] * 3


def test_scales_of_other_rows_are_refused(launched):
    x = torch.randn(4, 128)
    q, scale = nt.quantize(x, (1, 32))
    nt.dequantize(q, scale, (1, 32))
    with pytest.raises(norma.UnsupportedError, match=r"expected scale to have shape \(3, 4\), got \(4, 4\)"):
        nt.dequantize(q[:3], scale, (1, 32))
    assert len(launched()) == 2


def test_a_known_function_takes_no_weight_with_the_shape_of_the_rows(launched):
    x, weight = torch.randn(4, 8, 4, 8), torch.randn(4, 8)
    for call in (
        lambda x, w: nt.rms_norm(x, (4, 8), w),
        lambda x, w: nt.layer_norm(x, (4, 8), w, w),
    ):
        call(x, weight)
        count = len(launched())
        for rows in ((8, 4), (2, 16)):
            with pytest.raises(norma.UnsupportedError, match=r"expected weight to have shape \(4, 8\), got"):
                call(torch.randn(*rows, 4, 8), torch.randn(rows))
        assert len(launched()) == count
        call(torch.randn(8, 4, 4, 8), weight)
        assert len(launched()) == count + 1


@pytest.fixture
def ops():
    """Makes the ops of graphs launch on the host's tensors."""
    for name in library.IMPLEMENTATIONS:
        op = getattr(library, name)
        op.register_kernel("cpu")(op._init_fn)


@pytest.mark.filterwarnings("ignore")
def test_tracers_record_a_known_function(launched, ops):
    norm, x = nt.RMSNorm(64).requires_grad_(False), torch.randn(4, 64)
    norm(x)
    traced = torch.jit.trace(norm, x, check_trace=False)
    assert "norma::rms_norm" in str(traced.graph)
    before_dispatch = make_fx(lambda x: nt.softmax(nt.rms_norm(x, (64,)), -1), pre_dispatch=True)(x)
    targets = [str(node.target) for node in before_dispatch.graph.nodes if "norma" in str(node.target)]
    assert targets == ["norma.rms_norm.default", "norma.softmax.default"]
    count = len(launched())
    traced(x)
    before_dispatch(x)
    assert len(launched()) == count + 3


def test_modes_of_functions_alone_are_no_tracers(launched):
    x = torch.randn(4, 64)
    with torch.device("cpu"):
        assert gradients.is_plain(x)


def test_a_known_function_takes_no_sparse_or_subclassed_tensors(launched):
    x = torch.randn(4, 64)
    nt.rms_norm(x, (64,), x[0])
    with pytest.raises(norma.UnsupportedError, match="expected input to be a dense tensor, got torch.sparse_coo"):
        nt.rms_norm(x.to_sparse(), (64,), x[0])
    with FakeTensorMode():
        weight = torch.empty(64)
    with pytest.raises(norma.UnsupportedError, match="expected plain tensors, .*, got one of type FakeTensor"):
        nt.rms_norm(x, (64,), weight)
    assert len(launched()) == 1


def bundle_function(scale):
    x, y = torch.randn(3, 64), torch.empty(3)
    assert scale(x, out=y) is y
    return x, y


REFUSED = "expected '.' to be a tensor without gradient, got one that requires grad; detach it, or use norma.torch"


def test_a_bundle_takes_no_tensors_whose_gradients_are_recorded(scale, launched):
    x, y = bundle_function(scale)
    leaf, result = x.clone().requires_grad_(), y.clone().requires_grad_()
    for call in (
        lambda: scale(leaf),
        lambda: scale(leaf * 2, out=y),
        lambda: scale(torch.nn.Parameter(x), out=y),
        lambda: scale(x, out=result),
        lambda: scale.launch_viewed(leaf, y),
        lambda: scale.launch_viewed(x, result),
    ):
        with pytest.raises(norma.ArgumentError, match=REFUSED):
            call()
    assert len(launched()) == 1
    with torch.no_grad():
        assert not scale(leaf).requires_grad
        scale(torch.nn.Parameter(x), out=result)
    assert len(launched()) == 3


def test_a_function_of_ones_own_may_call_a_bundle(scale, launched):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return scale(x)

        @staticmethod
        def backward(ctx, dy):
            return dy[:, None].expand(3, 64)

    x = torch.randn(3, 64, requires_grad=True)
    y = Scale.apply(x)
    assert y.requires_grad and len(launched()) == 1


def test_given_outputs_count_as_modified(scale):
    x, y = bundle_function(scale)
    version = y._version
    scale(x, out=y)
    scale.launch_viewed(x, y)
    assert (y._version, x._version) == (version + 2, 0)
    factor = torch.randn(3, requires_grad=True)
    product = factor * y
    scale(x, out=y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    with torch.inference_mode():
        scale(torch.ones(3, 64), out=torch.empty(3))


def test_tensors_without_memory_are_no_arguments_of_a_bundle(scale, launched):
    with FakeTensorMode():
        fake = torch.empty(3, 64)
    for x, got in (
        (fake, "got a FakeTensor without memory"),
        (torch.empty(3, 64, device="meta"), "got one that cannot be lent: "),
    ):
        with pytest.raises(norma.ArgumentError) as refused:
            scale(x, out=torch.empty(3))
        assert f"expected 'x' to be a tensor in the memory of a GPU, {got}" in str(refused.value)
        assert "\n" not in str(refused.value)
    assert launched() == []
