//! Which launches result from a call, and which calls are refused.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

mod fixture;

use fixture::{Rows, X, Y, bundle, call, device, function, launch, launches, stream, views_of_rows};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use norma_runtime::{Device, Element, Error, Function, FunctionEverywhere, Scalar, StreamHandle, Tensor};
use serde_json::{Value, json};

/// The message of a call that is refused; asserts that nothing has been launched.
fn refusal(function: &Function, tensors: &[&Tensor<'_>], scalars: &[Scalar]) -> String {
    let stream = stream();
    let error = call(function, tensors, scalars, stream.handle()).unwrap_err();
    assert!(launches(&stream).is_empty());
    let Error::Call { message, .. } = error else {
        return error.to_string();
    };
    message
}

#[test]
fn kernels_get_addresses_sizes_and_scalars() {
    let (scale, stream) = (function(|_| ()), stream());
    launch(&scale, 100, stream.handle()).unwrap();
    let launched = launches(&stream);
    assert_eq!(launched.len(), 1);
    let launched = &launched[0];
    assert_eq!((launched.symbol.as_str(), launched.device), ("scale_0", 0));
    assert_eq!((launched.grid, launched.block), ([4, 1, 1], [256, 1, 1]));
    assert_eq!([0, 1, 3].map(|parameter| launched.word(parameter)), [X, Y, 100]);
    assert_eq!(launched.parameters[2], 2f32.to_le_bytes());
}

#[test]
fn scalars_take_the_callers_value() {
    let (scale, stream, rows) = (function(|_| ()), stream(), Rows::new(1));
    let [x, y] = rows.on(0);
    call(&scale, &[&x, &y], &[Scalar::Float(0.5)], stream.handle()).unwrap();
    call(&scale, &[&x, &y], &[Scalar::Default], stream.handle()).unwrap();
    let scalars: Vec<_> = launches(&stream)
        .iter()
        .map(|launch| launch.parameters[2].clone())
        .collect();
    assert_eq!(scalars, [0.5f32.to_le_bytes(), 2f32.to_le_bytes()]);
    assert_eq!(
        refusal(&scale, &[&x, &y], &[Scalar::Float(1.0); 2]),
        "expected at most 1 scalars, got 2"
    );
    let whole = function(|function| function["kernels"][0]["args"][3]["name"] = "rows".into());
    assert_eq!(
        refusal(&whole, &[&x, &y], &[Scalar::Default, Scalar::Float(0.5)]),
        "expected 'rows' to fit I64, got 0.5"
    );
    for (beyond, got) in [(1e300, "1e300"), (-1e-50, "-1e-50")] {
        assert_eq!(
            refusal(&scale, &[&x, &y], &[Scalar::Float(beyond)]),
            format!(
                "expected 's' to be 0, or a number of f32's range, between 1.4e-45 and 3.4e38 without its sign, got {got}"
            )
        );
    }
}

#[test]
fn booleans_are_read_as_bytes_and_not_written_as_bytes() {
    let of_bytes = function(|function| {
        for tensor in ["inputs", "outputs"] {
            function[tensor][0]["dtype"] = "i8".into();
        }
    });
    let of = |element| Tensor::dense(0, X, element, &[3, 64]);
    let into = |element| Tensor::dense(0, Y, element, &[3]);
    let stream = stream();
    call(
        &of_bytes,
        &[&of(Element::I1), &into(Element::I8)],
        &[],
        stream.handle(),
    )
    .unwrap();
    assert_eq!(
        refusal(&of_bytes, &[&of(Element::I1), &into(Element::I1)], &[]),
        "expected 'y' to be of type i8, got bool8"
    );
}

#[test]
fn tensors_that_the_kernels_are_not_made_for_are_refused() {
    let scale = function(|_| ());
    let rows = Rows::new(3);
    let [x, y] = rows.on(0);
    let at = |address| Tensor::dense(0, address, Element::F32, &[3, 64]);
    let shaped = |shape: &'static [i64]| Tensor::dense(0, X, Element::F32, shape);
    let strided = |strides: &'static [i64]| Tensor::new(0, X, Element::F32, &[3, 64], strides);
    for (x, expected) in [
        (
            Tensor::dense(0, X, Element::BF16, &[3, 64]),
            "expected 'x' to be of type f32, got bf16",
        ),
        (
            Tensor::dense(1, X, Element::F32, &[3, 64]),
            "expected 'x' to be in the memory of GPU 0, got GPU 1",
        ),
        (shaped(&[192]), "expected 'x' to have 2 dims, got 1"),
        (shaped(&[3, 65]), "expected dim 1 of 'x' to be 64, got 65"),
        (
            shaped(&[-3, 64]),
            "expected dim 0 of 'x' to be at least 0, got -3",
        ),
        (shaped(&[4, 64]), "expected dim 0 of 'y' to be 4, got 3"),
        (strided(&[65, 1]), "expected stride 0 of 'x' to be 64, got 65"),
        (strided(&[64, 2]), "expected stride 1 of 'x' to be 1, got 2"),
        (
            at(X + 4),
            "expected 'x' to be aligned to 16 bytes, got address 0x10000004",
        ),
        (at(0), "expected an address for 'x', got null"),
        (at(u64::MAX - 15), "'x' does not fit in 64-bit addresses"),
        (
            at(Y - 16),
            "expected output 'y' not to overlap 'x', got 0x90000000 and 0x8ffffff0",
        ),
    ] {
        assert_eq!(refusal(&scale, &[&x, &y], &[]), expected);
    }
    assert_eq!(refusal(&scale, &[&x], &[]), "expected 2 tensors, got 1");
    let many = Rows::new(i64::MAX / 2);
    let [x, y] = many.on(0);
    assert_eq!(
        refusal(&scale, &[&x, &y], &[]),
        "'x' does not fit in 64-bit addresses"
    );
}

/// C passes null where it has forgotten the shape.
#[test]
fn a_tensor_with_dims_has_a_shape() {
    let rows = Rows::new(3);
    let [mut x, y] = rows.on(0);
    x.shape = std::ptr::null();
    assert_eq!(
        refusal(&function(|_| ()), &[&x, &y], &[]),
        "expected a shape for 'x', got null"
    );
    x.rank = 0;
    assert_eq!(
        refusal(&function(|_| ()), &[&x, &y], &[]),
        "expected 'x' to have 2 dims, got 0"
    );
}

#[test]
fn host_memory_is_refused() {
    let rows = Rows::new(3);
    let [mut x, y] = rows.on(0);
    for (kind, memory) in [
        (1, "host memory"),
        (3, "pinned host memory"),
        (10, "device 0 of DLPack's kind 10"),
    ] {
        x.device.kind = kind;
        assert_eq!(
            refusal(&function(|_| ()), &[&x, &y], &[]),
            format!("expected 'x' to be in the memory of GPU 0, got {memory}")
        );
    }
}

#[test]
fn what_the_manifest_says_of_extents_and_strides_is_checked() {
    let change = |input: Value| {
        function(move |function| {
            let target = function["inputs"][0].as_object_mut().unwrap();
            target.extend(input.as_object().unwrap().clone());
        })
    };
    let y = Tensor::dense(0, Y, Element::F32, &[3]);
    let x = Tensor::new(0, X, Element::F32, &[3, 64], &[68, 1]);
    for (input, expected) in [
        (
            json!({"strides": ["s", 1], "stride_multiples": [8, 1]}),
            "expected stride 0 of 'x' to be a multiple of 8, got 68",
        ),
        (
            json!({"strides": ["s", 1], "shape_multiples": [2, 1]}),
            "expected dim 0 of 'x' to be a multiple of 2, got 3",
        ),
        (
            json!({"strides": ["s", 1], "shape_minimums": ["max(m, 4)", 0]}),
            "expected dim 0 of 'x' to be at least 4, got 3",
        ),
    ] {
        assert_eq!(refusal(&change(input), &[&x, &y], &[]), expected);
    }
    let indexed = change(json!({"strides": ["s", 1], "index_bits": 32}));
    let far = Tensor::new(0, X, Element::F32, &[3, 64], &[1 << 30, 1]);
    let y_behind = Tensor::dense(0, X + (1 << 40), Element::F32, &[3]);
    assert_eq!(
        refusal(&indexed, &[&far, &y_behind], &[]),
        "expected 'x' to span up to 2^31 elements, as the kernels index it in 32 bits, got 2147483712"
    );
    let backwards = Tensor::new(0, X, Element::F32, &[3, 64], &[-64, 1]);
    assert_eq!(
        refusal(&change(json!({"strides": ["s", 1]})), &[&backwards, &y], &[]),
        "expected stride 0 of 'x' to be at least 0, got -64"
    );
}

#[test]
fn outputs_whose_elements_share_memory_are_refused() {
    let strided = function(|function| function["outputs"][0]["strides"] = json!(["s"]));
    let x = Tensor::dense(0, X, Element::F32, &[3, 64]);
    let y = Tensor::new(0, Y, Element::F32, &[3], &[0]);
    assert_eq!(
        refusal(&strided, &[&x, &y], &[]),
        "expected strides of output 'y' that are nested, so that its elements lie apart, got [0] for extents [3]"
    );
}

/// Whether elements share memory is not always found out, so the message must not say that they do.
#[test]
fn outputs_whose_strides_are_not_nested_are_refused() {
    let strided = function(|function| {
        function["outputs"][0]["shape"] = json!([3, 2]);
        function["outputs"][0]["strides"] = json!(["s", "t"]);
    });
    let x = Tensor::dense(0, X, Element::F32, &[3, 64]);
    let y = Tensor::new(0, Y, Element::F32, &[3, 2], &[2, 3]);
    assert_eq!(
        refusal(&strided, &[&x, &y], &[]),
        "expected strides of output 'y' that are nested, so that its elements lie apart, got [2, 3] for extents [3, 2]"
    );
}

#[test]
fn conditions_are_checked() {
    let condition = json!([{"left": "m", "relation": ">=", "right": 4, "text": "dim(x, 0) >= 4"}]);
    let bounded = function(|function| function["conditions"] = condition);
    let rows = Rows::new(3);
    let [x, y] = rows.on(0);
    assert_eq!(
        refusal(&bounded, &[&x, &y], &[]),
        "expected dim(x, 0) >= 4, got 3"
    );
    launch(&bounded, 4, stream().handle()).unwrap();
}

#[test]
fn conditions_see_the_numbers_that_a_call_sets() {
    let condition =
        json!([{"left": "m", "relation": ">=", "right": "first + 4", "text": "dim(x, 0) >= first + 4"}]);
    let bounded = function(|function| {
        let number = &mut function["kernels"][0]["args"][3];
        number["name"] = "first".into();
        number["value"] = 3.into();
        function["conditions"] = condition;
    });
    let (stream, rows) = (stream(), Rows::new(6));
    let [x, y] = rows.on(0);
    assert_eq!(
        refusal(&bounded, &[&x, &y], &[]),
        "expected dim(x, 0) >= first + 4, got 6 and 7"
    );
    for first in [Scalar::Integer(2), Scalar::Float(2.0)] {
        call(&bounded, &[&x, &y], &[Scalar::Default, first], stream.handle()).unwrap();
    }
    for first in [Scalar::Integer(3), Scalar::Float(3.0), Scalar::Default] {
        let refused = refusal(&bounded, &[&x, &y], &[Scalar::Default, first]);
        assert!(refused.contains("got 6 and 7"), "{refused}");
    }
    // The number that one call sets does not persist to the next.
    assert!(refusal(&bounded, &[&x, &y], &[Scalar::Default]).contains("got 6 and 7"));
}

#[test]
fn a_dim_of_one_element_has_any_stride_and_so_have_tensors_without_elements() {
    let (scale, stream) = (function(|_| ()), stream());
    let x = Tensor::new(0, X, Element::F32, &[1, 64], &[7, 1]);
    let y = Tensor::new(0, Y, Element::F32, &[1], &[5]);
    call(&scale, &[&x, &y], &[], stream.handle()).unwrap();
    assert_eq!(launches(&stream).len(), 1);
    // With no rows there is no memory, and the grid has no CTAs.
    let x = Tensor::new(0, 0, Element::F32, &[0, 64], &[7, 3]);
    let y = Tensor::dense(0, 0, Element::F32, &[0]);
    call(&scale, &[&x, &y], &[], stream.handle()).unwrap();
    assert_eq!(launches(&stream).len(), 1);
}

#[test]
fn a_stride_that_dims_share_is_read_off_one_that_has_it() {
    let shared = function(|function| {
        function["inputs"][0]["strides"] = json!(["s", 1]);
        function["outputs"][0]["shape"] = json!(["k"]);
        function["outputs"][0]["strides"] = json!(["s"]);
    });
    let x = Tensor::new(0, X, Element::F32, &[1, 64], &[7, 1]);
    let y = Tensor::new(0, Y, Element::F32, &[2], &[5]);
    call(&shared, &[&x, &y], &[], stream().handle()).unwrap();
    let x = Tensor::new(0, X, Element::F32, &[2, 64], &[70, 1]);
    assert_eq!(
        refusal(&shared, &[&x, &y], &[]),
        "expected stride 0 of 'y' to be 70, got 5"
    );
}

#[test]
fn an_output_may_be_the_input_that_the_manifest_lets_it_be() {
    let in_place = function(|function| {
        function["outputs"][0] = function["inputs"][0].clone();
        function["outputs"][0]["name"] = "y".into();
        function["outputs"][0]["may_alias"] = "x".into();
    });
    let at = |address| Tensor::dense(0, address, Element::F32, &[3, 64]);
    call(&in_place, &[&at(X), &at(X)], &[], stream().handle()).unwrap();
    assert_eq!(
        refusal(&in_place, &[&at(X), &at(X + 16)], &[]),
        "expected output 'y' to begin where input 'x' does, or not to overlap it, got 0x10000010 and 0x10000000"
    );
}

/// The heads of a packed tensor of Q, K and V, of rows of 3 * 64 elements: views whose spans overlap, but not their elements.
#[test]
fn an_output_may_lie_between_the_elements_of_an_input() {
    let views = function(views_of_rows);
    let may_alias = function(|function| {
        views_of_rows(function);
        function["outputs"][0]["may_alias"] = "x".into();
    });
    let part = |offset: u64| Tensor::new(0, X + 4 * offset, Element::F32, &[1 << 20, 64], &[192, 1]);
    for function in [&views, &may_alias] {
        for (x, y) in [(0, 64), (64, 128), (128, 0)] {
            call(function, &[&part(x), &part(y)], &[], stream().handle()).unwrap();
        }
    }
    call(&may_alias, &[&part(64), &part(64)], &[], stream().handle()).unwrap();
    for (function, offset, expected) in [
        (
            &views,
            0,
            "expected output 'y' not to overlap 'x', got 0x10000000 and 0x10000000",
        ),
        (
            &views,
            60,
            "expected output 'y' not to overlap 'x', got 0x100000f0 and 0x10000000",
        ),
        // The end of a row reaches into the next row of x.
        (
            &views,
            132,
            "expected output 'y' not to overlap 'x', got 0x10000210 and 0x10000000",
        ),
        (
            &may_alias,
            60,
            "expected output 'y' to begin where input 'x' does, or not to overlap it, got 0x100000f0 and 0x10000000",
        ),
    ] {
        assert_eq!(refusal(function, &[&part(0), &part(offset)], &[]), expected);
    }
}

#[test]
fn an_output_may_not_be_an_input_whose_strides_leave_open_what_they_share() {
    let views = function(|function| {
        views_of_rows(function);
        function["outputs"][0]["strides"] = json!(["t", 1]);
    });
    let x = Tensor::new(0, X, Element::F32, &[1 << 20, 64], &[1000, 1]);
    let y = Tensor::new(0, X + 256, Element::F32, &[1 << 20, 64], &[1500, 1]);
    assert_eq!(
        refusal(&views, &[&x, &y], &[]),
        "expected output 'y' not to overlap 'x', got 0x10000100 and 0x10000000, whose strides leave open whether they \
         share elements"
    );
}

#[test]
fn sizes_choose_between_kernels() {
    let bundle = bundle(|manifest| {
        manifest["manifest_version"] = 2.into();
        let kernels = &mut manifest["functions"][0]["kernels"];
        let mut few = kernels[0].clone();
        few["grid"][0] = "m".into();
        few["when"] = json!([{"left": "2*num_sms", "relation": ">=", "right": "m + 1", "text": "few"}]);
        kernels[0]["when"] = json!([{"left": "m", "relation": ">=", "right": "2*num_sms", "text": "many"}]);
        kernels.as_array_mut().unwrap().push(few);
    });
    let chosen = Function::load(&bundle, &device(0), "scale").unwrap();
    let stream = stream();
    launch(&chosen, 263, stream.handle()).unwrap();
    launch(&chosen, 264, stream.handle()).unwrap();
    let grids: Vec<u32> = launches(&stream).iter().map(|launch| launch.grid[0]).collect();
    assert_eq!(grids, [263, 9]);
}

#[test]
fn grids_know_the_device_and_how_many_ctas_it_holds() {
    let persistent = |shared: Value| {
        function(move |function| {
            function["kernels"][0]["grid"][0] = "min(m, num_sms*ctas_per_sm)".into();
            function["kernels"][0]["shared_bytes"] = shared;
        })
    };
    let stream = stream();
    for shared in [json!(1024), json!("m*4")] {
        launch(&persistent(shared), 10_000, stream.handle()).unwrap();
    }
    let held = norma_stub_driver::MULTIPROCESSORS * norma_stub_driver::CTAS_PER_MULTIPROCESSOR;
    for launched in launches(&stream) {
        assert_eq!(launched.grid[0], held);
    }
}

/// Without CTAs that fit, a grid over their number would be empty, and the outputs would stay unwritten without an error.
#[test]
fn a_kernel_of_which_no_cta_fits_is_refused() {
    let threads = norma_stub_driver::LARGEST_BLOCK + 32;
    let too_large = |function: &mut Value, shared: Value| {
        let kernel = &mut function["kernels"][0];
        kernel["block"] = json!([threads / 2, 2, 1]);
        kernel["grid"][0] = "min(m, num_sms*ctas_per_sm)".into();
        kernel["shared_bytes"] = shared;
    };
    let expected = |shared| {
        format!(
            "kernel 'scale_0' does not fit the device: a multiprocessor holds none of its CTAs of {threads} threads with \
             {shared} bytes of dynamic shared memory"
        )
    };
    let constant = bundle(|manifest| too_large(&mut manifest["functions"][0], json!(1024)));
    let error = Function::load(&constant, &device(0), "scale").err().unwrap();
    assert_eq!(error.to_string(), expected(1024));
    let dynamic = function(|function| too_large(function, json!("m*4")));
    let rows = Rows::new(10);
    let [x, y] = rows.on(0);
    assert_eq!(refusal(&dynamic, &[&x, &y], &[]), expected(40));
}

#[test]
fn a_capture_whose_work_fails_leaves_no_graph() {
    let (scale, stream, rows) = (function(|_| ()), stream(), Rows::new(3));
    let [x, y] = rows.on(0);
    let capture = |tensors: &[&Tensor<'_>]| stream.capture(|| call(&scale, tensors, &[], stream.handle()));
    let graphs = norma_stub_driver::graphs_of_thread;
    let before = graphs();
    assert!(capture(&[&x]).is_err());
    assert_eq!(graphs(), before);
    let graph = capture(&[&x, &y]).unwrap();
    assert_eq!(graphs(), before + 1);
    drop(graph);
    assert_eq!(graphs(), before);
}

#[test]
fn launches_carry_what_the_kernel_asks_for() {
    let special = function(|function| {
        let kernel = &mut function["kernels"][0];
        kernel["cluster"] = json!([4, 1, 1]);
        kernel["programmatic_dependent_launch"] = true.into();
        kernel["shared_bytes"] = "m*1024".into();
        kernel["shared_carveout"] = 100.into();
    });
    let stream = stream();
    launch(&special, 100, stream.handle()).unwrap();
    launch(&special, 10, stream.handle()).unwrap();
    let launched = launches(&stream);
    assert_eq!((launched[0].cluster, launched[0].programmatic), ([4, 1, 1], true));
    assert_eq!(
        [launched[0].shared_bytes, launched[1].shared_bytes],
        [102_400, 10_240]
    );
    let error = launch(&special, 1000, stream.handle()).unwrap_err();
    assert!(matches!(error, Error::Driver(_)), "{error}");
    assert_eq!(launches(&stream).len(), 2);
}

#[test]
fn large_clusters_are_asked_for_and_told_of_where_the_device_has_no_room() {
    let clusters_of_16 = |threads: u32| {
        function(move |function| {
            function["kernels"][0]["cluster"] = json!([16, 1, 1]);
            function["kernels"][0]["block"] = json!([threads, 1, 1]);
        })
    };
    let stream = stream();
    launch(&clusters_of_16(256), 100, stream.handle()).unwrap();
    assert_eq!(launches(&stream)[0].cluster, [16, 1, 1]);
    let error = launch(&clusters_of_16(1024), 100, stream.handle()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel 'scale_0' does not fit the device, which has no room for a cluster of 16 CTAs; normac --portable-clusters \
         chooses schedules without such clusters"
    );
}

#[test]
fn nothing_is_launched_of_a_call_whose_last_kernel_is_refused() {
    let half = function(|function| {
        let mut second = function["kernels"][0].clone();
        second["grid"][1] = "m*1000000000".into();
        function["kernels"].as_array_mut().unwrap().push(second);
    });
    let rows = Rows::new(5);
    let [x, y] = rows.on(0);
    assert_eq!(
        refusal(&half, &[&x, &y], &[]),
        "expected the grid of a kernel to fit in 32 bits, got 5000000000"
    );
}

#[test]
fn a_function_launches_on_its_own_device() {
    let second = Function::load(&bundle(|_| ()), &device(1), "scale").unwrap();
    launch(&second, 8, StreamHandle::DEFAULT).unwrap();
    let on_second = norma_stub_driver::launches(0);
    assert!(
        on_second
            .iter()
            .any(|launch| launch.device == 1 && launch.word(3) == 8)
    );
    let rows = Rows::new(8);
    let [x, y] = rows.on(0);
    assert!(refusal(&second, &[&x, &y], &[]).starts_with("expected 'x' to be in the memory of GPU 1"));
}

#[test]
fn devices_and_targets_that_are_not_there_are_told() {
    let error = Device::open(fixture::driver(), 7).err().unwrap().to_string();
    assert_eq!(error, "no GPU: expected a device below 2, got 7");
    let blackwell = bundle(|manifest| {
        manifest["target"] = "sm_100a".into();
        manifest["functions"][0]["kernels"][0]["target"] = "sm_100a".into();
    });
    let error = Function::load(&blackwell, &device(0), "scale").err().unwrap();
    assert!(
        error
            .to_string()
            .starts_with("the bundle is for sm_100a, the GPU is sm_90 (")
    );
    let error = Function::load(&bundle(|_| ()), &device(0), "softmax")
        .err()
        .unwrap();
    assert_eq!(error.to_string(), "there is no function 'softmax', only scale");
}

#[test]
fn what_cannot_be_known_at_a_launch_is_told_when_it_is_loaded() {
    let error = |change: &dyn Fn(&mut Value)| {
        let bundle = bundle(|manifest| change(&mut manifest["functions"][0]));
        Function::load(&bundle, &device(0), "scale")
            .err()
            .unwrap()
            .to_string()
    };
    assert_eq!(
        error(&|function| function["inputs"][0]["shape"][1] = "2*k".into()),
        "cannot prepare 'scale' for launches: symbol 'k' has no value"
    );
    assert_eq!(
        error(&|function| function["kernels"][0]["shared_bytes"] = "4*ctas_per_sm".into()),
        "cannot prepare 'scale' for launches: symbol 'ctas_per_sm' has no value"
    );
}

#[test]
fn a_function_everywhere_runs_where_its_tensors_are() {
    let bundle = Arc::new(bundle(|_| ()));
    let everywhere = FunctionEverywhere::new(&bundle, fixture::driver(), "scale").unwrap();
    let (stream, rows) = (stream(), Rows::new(8));
    let [x, y] = rows.on(0);
    let [x_there, y_there] = rows.on(1);
    // The function is loaded on a device during a capture that is the first to use it.
    let launch = |x: &Tensor<'_>, y: &Tensor<'_>| {
        // SAFETY: the tensors have their shapes, and no kernel runs.
        unsafe { everywhere.launch(&[x, y], &[], stream.handle()) }
    };
    let graph = stream.capture(|| launch(&x, &y)).unwrap();
    graph.launch(&stream).unwrap();
    launch(&x_there, &y_there).unwrap();
    let devices: Vec<usize> = launches(&stream).iter().map(|launch| launch.device).collect();
    assert_eq!(devices, [0, 1]);
    let error = launch(&x, &y_there).unwrap_err().to_string();
    assert!(error.starts_with("cannot launch 'scale': expected 'y' to be in the memory of GPU 0"));
    let [x_nowhere, y_nowhere] = rows.on(2);
    let error = launch(&x_nowhere, &y_nowhere).unwrap_err().to_string();
    assert_eq!(error, "no GPU: expected a device below 2, got 2");
    let mut x_of_host = x;
    x_of_host.device.kind = 1;
    let error = launch(&x_of_host, &y).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot launch 'scale': expected 'x' to be in the memory of a GPU, got host memory"
    );
}

/// Loading may wait for work on its device, which may in turn wait for a launch on another.
#[test]
fn a_function_is_loaded_on_one_device_while_it_is_on_another() {
    let bundle = Arc::new(bundle(|_| ()));
    let everywhere = FunctionEverywhere::new(&bundle, fixture::driver(), "scale").unwrap();
    let everywhere = Arc::new(everywhere);
    let (sender, receiver) = mpsc::channel();
    let other = {
        let everywhere = Arc::clone(&everywhere);
        move || sender.send(everywhere.on(1).is_ok()).unwrap()
    };
    let (told, is_loaded) = mpsc::channel();
    norma_stub_driver::during_next("cuModuleLoadData", move || {
        thread::spawn(other);
        told.send(receiver.recv_timeout(Duration::from_secs(5))).unwrap();
    });
    everywhere.on(0).unwrap();
    assert_eq!(is_loaded.recv().unwrap(), Ok(true));
}

#[test]
fn releasing_scratch_loads_nothing() {
    // It cannot be loaded on these devices.
    let blackwell = bundle(|manifest| {
        manifest["target"] = "sm_100a".into();
        manifest["functions"][0]["kernels"][0]["target"] = "sm_100a".into();
    });
    let everywhere = FunctionEverywhere::new(&Arc::new(blackwell), fixture::driver(), "scale").unwrap();
    // SAFETY: nothing was launched.
    unsafe { everywhere.release_scratch(0, StreamHandle::DEFAULT) }.unwrap();
    // SAFETY: as above.
    let error = unsafe { everywhere.release_scratch(2, StreamHandle::DEFAULT) }.unwrap_err();
    assert_eq!(error.to_string(), "no GPU: expected a device below 2, got 2");
}
