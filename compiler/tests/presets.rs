//! Presets of named ops: the source written for every op parses and verifies, and impossible requests are refused.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

use norma_compiler::compile::{Input, Outcome, lower};
use norma_compiler::named_op::{ChoiceKind, NamedOp};
use norma_compiler::preset::{Extent, OPS, Preset, Promise, Wanted, find_op, parse_shape};
use norma_compiler::{CompileOptions, Level, target};

fn preset(op: &str, shape: &str) -> Preset {
    Preset::new(find_op(op).unwrap(), parse_shape(shape).unwrap())
}

/// The source at a level, or the diagnostics of a refusal.
fn lowered(preset: &Preset, to: Level) -> std::result::Result<Vec<u8>, String> {
    let text = preset.source().map_err(|error| error.to_string())?;
    let mut outcome = Outcome::default();
    let input = Input {
        name: "preset",
        text: &text,
    };
    lower(input, to, &CompileOptions::new(&target::SM_90A), &mut outcome)
        .map_err(|_| format!("{text}{}", outcome.diagnostics))
}

/// The parsed and printed source: the op in its own form.
fn parsed(preset: &Preset) -> std::result::Result<String, String> {
    lowered(preset, Level::Tensor).map(|bytes| String::from_utf8(bytes).unwrap())
}

/// Lowers to the last level that does not depend on LLVM.
fn compiled(preset: &Preset) -> std::result::Result<(), String> {
    lowered(preset, Level::Nvvm).map(drop)
}

/// The type of scales that a tensor-wide factor may multiply.
const E4M3: &str = "f8E4M3FN";

/// A shape that suits the first operand of every op.
const SHAPE: &str = "m,64,32";

#[test]
fn every_op_is_valid_with_what_it_usually_has() {
    for op in OPS {
        let mut preset = preset(op.mnemonic, SHAPE);
        for choice in op.choices.iter().filter(|choice| choice.is_required) {
            let said = match choice.kind {
                ChoiceKind::Keyword(keywords) => keywords[0],
                _ => "4",
            };
            preset.choices.insert(choice.name, said.to_owned());
        }
        parsed(&preset).unwrap();
    }
}

/// Compiles an op with as few choices as it takes; returns the diagnostics of a refusal.
fn compiled_with_shape(op: &'static NamedOp, shape: &str) -> std::result::Result<(), String> {
    let mut preset = Preset::new(op, parse_shape(shape).unwrap());
    for choice in op.choices.iter().filter(|choice| choice.is_required) {
        let said = match choice.kind {
            ChoiceKind::Keyword(keywords) => keywords[0],
            _ => "1",
        };
        preset.choices.insert(choice.name, said.to_owned());
    }
    compiled(&preset)
}

#[test]
fn empty_tensors_compile_or_are_refused_by_the_verifier() {
    for op in OPS {
        compiled_with_shape(op, "0,4096").unwrap();
        let without_columns = compiled_with_shape(op, "m,0");
        match op.mnemonic {
            "group_norm" | "group_norm_grad" => {
                let refusal = without_columns.unwrap_err();
                let expected = "expected one group, or groups that divide a static number of channels above 0, got 1 groups";
                assert!(refusal.contains(expected), "{refusal}");
            }
            "top_k" => {
                let refusal = without_columns.unwrap_err();
                let expected = "expected k between 1 and 128, and no more than there are elements, got 1";
                assert!(refusal.contains(expected), "{refusal}");
            }
            _ => without_columns.unwrap(),
        }
    }
}

#[test]
fn a_dynamic_axis_of_one_element_at_most_is_reduced() {
    let mut preset = preset("rms_norm", "m,n");
    let promise = Promise {
        max: Some(1),
        ..Promise::default()
    };
    preset.promises.insert("n".to_owned(), promise);
    compiled(&preset).unwrap();
}

#[test]
fn pairs_halve_the_last_axis_of_what_holds_them() {
    let of = |op: &str, shape: &str, tensors: &[(&'static str, &str)]| {
        let mut preset = preset(op, shape);
        for (name, ty) in tensors {
            let wanted = Wanted::Present(Some((*ty).to_owned()));
            preset.tensors.insert(name, wanted);
        }
        preset.choices.insert("block", "1,16".to_owned());
        preset.choices.insert("e2m1", "true".to_owned());
        parsed(&preset)
    };
    let e4m3 = ("scale", E4M3);
    // They are held by bytes, unless another type is said, which is refused.
    let packed = of("quantize", "m,64", &[e4m3]).unwrap();
    assert!(
        packed.contains("tensor<?x64xbf16> -> tensor<?x32xi8> scale(tensor<?x4xf8E4M3FN>)"),
        "{packed}"
    );
    let unpacked = of("dequantize", "m,32", &[e4m3]).unwrap();
    assert!(
        unpacked.contains("tensor<?x32xi8> -> tensor<?x64xf32>"),
        "{unpacked}"
    );
    let of_bytes = of("quantize", "m,64", &[("q", E4M3), e4m3]).unwrap_err();
    assert!(
        of_bytes.contains("expected e2m1 with a q of i8, got 'tensor<?x32xf8E4M3FN>'"),
        "{of_bytes}"
    );
}

#[test]
fn results_that_an_attribute_decides_have_a_type_that_it_allows() {
    for dtype in ["bf16", "f64", "i1", "i8", "i64"] {
        for (kind, result) in [("any", "i1"), ("all", "i1"), ("argmax", "i64"), ("argmin", "i64")] {
            if dtype == "i1" && result == "i64" {
                continue;
            }
            let mut preset = preset("reduce_axes", "m,64");
            preset.dtype = Some(dtype.to_owned());
            preset.choices.insert("kind", kind.to_owned());
            let text = parsed(&preset).unwrap();
            let expected = format!("{kind} %arg0 : tensor<?x64x{dtype}> -> tensor<?x{result}>");
            assert!(text.contains(&expected), "{text}");
            compiled(&preset).unwrap();
        }
    }
}

#[test]
fn the_last_block_of_an_axis_may_be_shorter() {
    let mut preset = preset("quantize", "m,576");
    preset.choices.insert("block", "128,128".to_owned());
    let text = parsed(&preset).unwrap();
    assert!(
        text.contains("tensor<?x576xbf16> -> tensor<?x576xf8E4M3FN> scale(tensor<?x5xf32>)"),
        "{text}"
    );
}

#[test]
fn scales_have_the_shape_of_their_layout() {
    let of = |shape: &str, block: &str, layout: &str| {
        let mut preset = preset("quantize", shape);
        let wanted = Wanted::Present(Some("f8E8M0FNU".to_owned()));
        preset.tensors.insert("scale", wanted);
        preset.choices.insert("block", block.to_owned());
        preset.choices.insert("scale_layout", layout.to_owned());
        parsed(&preset)
    };
    for (shape, block, layout, scale) in [
        ("300,192", "1,32", "linear", "300x6"),
        ("300,192", "1,32", "column_major", "6x300"),
        ("300,192", "1,32", "swizzled_128x4", "3x2x32x4x4"),
        ("2,m,4096", "1,1,32", "column_major", "2x128x?"),
        ("2,m,4096", "1,1,32", "swizzled_128x4", "2x?x32x32x4x4"),
    ] {
        let text = of(shape, block, layout).unwrap();
        assert!(
            text.contains(&format!("scale(tensor<{scale}xf8E8M0FNU>)")),
            "{text}"
        );
    }
    let refused = of("300,192", "1,0", "swizzled_128x4").unwrap_err();
    assert!(refused.contains("blocks along at least two axes"), "{refused}");
}

#[test]
fn every_op_is_valid_with_all_that_it_may_have() {
    for op in OPS {
        let mut preset = preset(op.mnemonic, SHAPE);
        for tensor in op.tensors() {
            preset.tensors.insert(tensor.name, Wanted::Present(None));
        }
        let said = match op.mnemonic {
            "group_norm" | "group_norm_grad" => [("groups", "4")].as_slice(),
            // Only a variance has a mean as second result.
            "reduce_axes" => &[("kind", "var"), ("keepdims", "true")],
            "quantize" => {
                // A scale is either given or computed.
                preset.tensors.insert("static_scale", Wanted::Absent);
                preset
                    .tensors
                    .insert("scale", Wanted::Present(Some(E4M3.to_owned())));
                &[("block", "1,0,32")]
            }
            "dequantize" => {
                preset
                    .tensors
                    .insert("scale", Wanted::Present(Some(E4M3.to_owned())));
                &[("block", "1,0,32")]
            }
            "cross_entropy" => &[("reduction", "mean"), ("axis", "1")],
            "top_k" => &[("k", "8"), ("axis", "1")],
            "top_k_grad" => &[("elements", "4096")],
            _ => &[],
        };
        for (name, value) in said {
            preset.choices.insert(name, (*value).to_owned());
        }
        parsed(&preset).unwrap();
    }
}

#[test]
fn sizes_attributes_and_types_are_those_that_are_said() {
    let mut preset = preset("layer_norm", "tokens,n");
    preset.dtype = Some("f16".to_owned());
    preset.tensors.insert("bias", Wanted::Absent);
    preset
        .tensors
        .insert("weight", Wanted::Present(Some("f32".to_owned())));
    preset.choices.insert("eps", "1e-3".to_owned());
    let promise = Promise {
        multiple: Some(8),
        max: Some(8192),
        ..Promise::default()
    };
    preset.promises.insert("n".to_owned(), promise);
    let text = parsed(&preset).unwrap();
    for part in [
        r#"%arg0: tensor<?x?xf16> {norm.max = array<i64: -1, 8192>, norm.multiples = array<i64: 1, 8>, norm.name = "x", norm.sizes = ["tokens", "n"]}"#,
        r#"tensor<?xf32> {norm.max = array<i64: 8192>, norm.multiples = array<i64: 8>, norm.name = "weight", norm.sizes = ["n"]}"#,
        "norm.layer_norm %arg0 weight(%arg1 : tensor<?xf32>) {eps = 1.000000e-03 : f32}",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let refused = |op: &str, shape: &str, say: fn(&mut Preset)| {
        let mut preset = preset(op, shape);
        say(&mut preset);
        preset.source().unwrap_err().to_string()
    };
    assert_eq!(
        refused("softmax", "m,8", |preset| preset.dtype = Some("f64".to_owned())),
        "expected the type of x to be one of bf16, f16, f32, got 'f64'"
    );
    assert_eq!(
        refused("reduce_axes", "m,8", |preset| {
            preset.choices.insert("kind", "median".to_owned());
        }),
        "expected kind to be one of sum, mean, prod, max, min, amax, sum_sq, norm, var, any, all, argmax, argmin, got 'median'"
    );
    assert_eq!(
        refused("group_norm", "m,8,4", |_| ()),
        "expected groups to be given, an integer"
    );
    assert_eq!(
        refused("rms_norm", "m,8", |preset| {
            preset.choices.insert("axes", "2".to_owned());
        }),
        "expected axes of a shape of rank 2 to be at least -2 and less than 2, got 2"
    );
    assert_eq!(
        refused("rms_norm", "m,8", |preset| {
            preset.choices.insert("eps", "inf".to_owned());
        }),
        "eps: expected a finite number, got 'inf'"
    );
    assert_eq!(
        refused("rms_norm", "m,8", |preset| {
            preset.tensors.insert("x", Wanted::Absent);
        }),
        "rms_norm always has 'x'"
    );
    assert_eq!(
        refused("rms_norm", "m,8", |preset| {
            preset.promises.insert("n".to_owned(), Promise::default());
        }),
        "expected a promise of a size that the shape names, got one of 'n'"
    );
    assert_eq!(
        refused("rms_norm", "m,8", |preset| {
            preset.promises.entry("m".to_owned()).or_default().multiple = Some(0);
        }),
        "expected multiple of size 'm' to be at least 1, got 0"
    );
    assert_eq!(
        refused("rms_norm", "m,8", |preset| {
            let promise = preset.promises.entry("m".to_owned()).or_default();
            (promise.min, promise.max) = (Some(10), Some(3));
        }),
        "expected max of size 'm' to be at least 10, got 3"
    );
}

#[test]
fn extents_are_numbers_and_names() {
    assert_eq!(
        parse_shape("m, 4096"),
        Ok(vec![Extent::Dynamic("m".to_owned()), Extent::Static(4096)])
    );
    for text in ["", "m,", "-1", "num_sms", "d0", "m n", "x_stride0", "1.5"] {
        parse_shape(text).unwrap_err();
    }
}
