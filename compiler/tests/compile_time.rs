//! How compile time grows with the size of the input: doubling any quantity must take less than four times as long, as it would
//! with a quadratic algorithm.
//!
//! Times are CPU times of the process, so that other processes on the machine do not count. Their effect on caches does, so
//! that one of several measurements has to be within the bound.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

use std::sync::Mutex;

use norma_compiler::{
    CompileOptions, Level, Target,
    compile::{Input, Outcome, lower},
    preset::{Preset, find_op, parse_shape},
};

/// Tests of one process share its CPU time, and so run one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The most that doubling the input may multiply the time by.
const GROWTH: f64 = 3.5;
/// How many times growth is measured before the test fails.
const ATTEMPTS: usize = 3;

/// The CPU seconds that the process has used.
#[cfg(target_os = "linux")]
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // After the program name in brackets, user and system time are the 12th and 13th fields, in hundredths of a second.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields = fields.split_whitespace().skip(11).take(2);
    fields.map(|field| field.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

#[cfg(not(target_os = "linux"))]
fn processor_seconds() -> f64 {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed().as_secs_f64()
}

/// Lowers a program; returns the seconds and the diagnostics of a failure.
fn seconds(text: &str, to: Level) -> (f64, String) {
    let options = CompileOptions::new(Target::parse("sm_90a").unwrap());
    let start = processor_seconds();
    let mut outcome = Outcome::default();
    let result = lower(
        Input {
            name: "grown.mlir",
            text,
        },
        to,
        &options,
        &mut outcome,
    );
    let wrong = result.err().map_or(String::new(), |_| outcome.diagnostics);
    (processor_seconds() - start, wrong)
}

/// Checks that lowering `program` of twice `size` is within the growth bound.
fn check_growth(program: impl Fn(usize) -> String, size: usize, to: Level) {
    let _alone = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    // Warms up what is done once per process.
    seconds(&program(1), to);
    let of = |size| {
        let (seconds, wrong) = seconds(&program(size), to);
        assert_eq!(wrong, "", "{size}");
        seconds
    };
    let measured = (0..ATTEMPTS).map(|_| (of(size), of(2 * size)));
    let mut tried = Vec::new();
    for (once, twice) in measured {
        if twice <= GROWTH * once + 0.05 {
            return;
        }
        tried.push((once, twice));
    }
    assert!(
        tried.is_empty(),
        "{size} and {} take, in seconds, {tried:?}",
        2 * size
    );
}

/// A compute over rows of `columns` elements of f32 whose body is `ops` between a read of `%v0` and a write of `%out`.
fn rows(columns: u64, ops: &str) -> String {
    let ty = format!("tensor<?x{columns}xf32>");
    format!(
        "func.func @f(%x: {ty} {{norm.name = \"x\"}}) -> ({ty} {{norm.name = \"y\"}}) {{
           %y = norm.compute(%in = %x : {ty}) -> (%result : {ty}) space(%m = dim(%in, 0), %n = {columns}) {{
             %v0 = norm.read %in[%m, %n] : {ty}
             {ops}
             norm.write %out, %result[%m, %n] : {ty}
           }}
           return %y : {ty}
         }}"
    )
}

/// [`rows`] with a body of `count` steps: `step` writes the ops that compute a result of the given name from `%v` and its
/// number.
fn chain(columns: u64, count: usize, step: impl Fn(usize, &str) -> String) -> String {
    let ops = (0..count).map(|number| match number + 1 == count {
        true => step(number, "out"),
        false => step(number, &format!("v{}", number + 1)),
    });
    rows(columns, &ops.collect::<String>())
}

/// `count` reductions, each of the row minus the result of the one before.
fn dependent_reductions(columns: u64, count: usize) -> String {
    chain(columns, count, |step, result| {
        format!(
            "%r{step} = norm.reduce add %v{step} over(%n) : f32
             %{result} = arith.subf %v{step}, %r{step} : f32\n"
        )
    })
}

/// `count` additions, each to the result of the one before.
fn additions(columns: u64, count: usize) -> String {
    chain(columns, count, |step, result| {
        format!("%{result} = arith.addf %v{step}, %v0 : f32\n")
    })
}

/// A row that a thread holds in 64 registers, which LLVM can combine in many ways.
#[test]
fn pairs_of_f32_are_found_quickly_on_a_target_that_has_them() {
    let _alone = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let preset = Preset::new(find_op("layer_norm").unwrap(), parse_shape("m,1600").unwrap());
    let mut options = CompileOptions::new(Target::parse("sm_100a").unwrap());
    let to = |level, text: &str, options: &CompileOptions| {
        let name = "pairs.mlir";
        lower(Input { name, text }, level, options, &mut Outcome::default())
            .map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let nvvm = to(Level::Nvvm, &preset.source().unwrap(), &options).unwrap();
    options.from = Level::Nvvm;
    let ptx = to(Level::Ptx, &nvvm, &options).unwrap();
    // 122, since sums of squares are fused.
    let pairs = ptx.matches(".f32x2").count();
    assert!(pairs >= 115, "{pairs}");
    let seconds = || {
        let start = processor_seconds();
        to(Level::Llvm, &nvvm, &options).unwrap();
        processor_seconds() - start
    };
    let tried: Vec<_> = (0..ATTEMPTS).map(|_| seconds()).collect();
    assert!(tried.iter().any(|seconds| *seconds < 0.5), "{tried:?}");
}

#[test]
fn reductions_of_a_held_row_that_wait_for_one_another() {
    check_growth(|count| dependent_reductions(1024, count), 250, Level::Tiled);
}

#[test]
fn a_chain_of_ops() {
    check_growth(|count| additions(128, count), 2000, Level::Nvvm);
}

/// `count` products of a value with itself, so that there are 2^count ways from the last value to the first.
fn squares(columns: u64, count: usize) -> String {
    chain(columns, count, |step, result| {
        let last = match result {
            "out" => format!(
                "%p = arith.mulf %v0, %v0 : f32
                 %max = norm.reduce max %s{step} over(%n) : f32
                 %out = arith.subf %p, %max : f32\n"
            ),
            _ => format!("%{result} = arith.addf %s{step}, %v0 : f32\n"),
        };
        format!("%s{step} = arith.mulf %v{step}, %v{step} : f32\n{last}")
    })
}

/// An argmax of what `count` products of an element with itself give, as `linalg` states it.
fn argmax_of_squares(count: usize) -> String {
    let squares = (0..count).map(|step| format!("%v{} = arith.mulf %v{step}, %v{step} : f32\n", step + 1));
    format!(
        "func.func @f(%x: tensor<64xf32>) -> (tensor<f32>, tensor<i64>) {{
           %least = arith.constant dense<0xFF800000> : tensor<f32>
           %first = arith.constant dense<0> : tensor<i64>
           %max, %place = linalg.generic {{
               indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>],
               iterator_types = [\"reduction\"]}}
               ins(%x : tensor<64xf32>) outs(%least, %first : tensor<f32>, tensor<i64>) {{
           ^bb0(%v0: f32, %out: f32, %out_place: i64):
             {}
             %j = linalg.index 0 : index
             %here = arith.index_cast %j : index to i64
             %0 = arith.maximumf %v{count}, %out : f32
             %1 = arith.cmpf ogt, %v{count}, %out : f32
             %2 = arith.select %1, %here, %out_place : i64
             linalg.yield %0, %2 : f32, i64
           }} -> (tensor<f32>, tensor<i64>)
           return %max, %place : tensor<f32>, tensor<i64>
         }}",
        squares.collect::<String>()
    )
}

#[test]
fn values_that_others_use_twice() {
    check_growth(|count| squares(128, count), 100, Level::Nvvm);
    check_growth(argmax_of_squares, 100, Level::Nvvm);
}

#[test]
fn functions_of_a_module() {
    let functions = |count: usize| {
        (0..count).fold(String::new(), |all, number| {
            all + &additions(64, 1).replace("@f", &format!("@f{number}"))
        })
    };
    check_growth(functions, 100, Level::Tiled);
}

#[test]
fn what_loops_would_compute_again_too_often_is_refused_at_once() {
    let _alone = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let (seconds, wrong) = seconds(&dependent_reductions(1 << 20, 500), Level::Nvvm);
    assert!(wrong.contains("unsupported: "), "{wrong}");
    assert!(seconds < 60.0, "{seconds} s");
}

#[test]
fn a_chain_of_200000_ops_is_refused_and_overflows_no_stack() {
    let _alone = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let (_, wrong) = seconds(&additions(128, 200_000), Level::Nvvm);
    assert!(wrong.contains("unsupported: "), "{wrong}");
}
