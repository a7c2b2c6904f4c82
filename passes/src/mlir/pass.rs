//! The interface of a pass, and its bridge to MLIR's pass manager.
//!
//! Passes.td declares a pass, build.rs generates a type from the entry that implements [`Pass`], and [`register`] hands its description to
//! the C++ class that MLIR runs. A pass keeps no state between runs: everything a run may use is in its [`PassContext`], because the pass
//! manager clones passes and runs the clones in parallel.

use std::{ffi::c_void, fmt, slice};

use melior::{
    Context, StringRef,
    ir::{Location, OperationRef, operation::OperationLike},
};
use mlir_sys::{MlirDialectHandle, MlirOperation, MlirStringRef};

use super::{
    context,
    diagnostic::{Diagnostic, Severity, emit},
    guard,
};

/// A function that returns the handle of a dialect, with the signature that the C API gives it.
pub type DialectHandle = unsafe extern "C" fn() -> MlirDialectHandle;

/// One pass of Passes.td. Implemented by generated code only.
pub trait Pass: Sized + 'static {
    /// Typed option values.
    type Options;
    /// Names the pass's counters.
    type Statistic: Copy;
    /// The entry's name, as pass timing prints it.
    const NAME: &'static str;
    /// The name in textual pipelines and on the command line.
    const ARGUMENT: &'static str;
    /// One line of help.
    const SUMMARY: &'static str;
    /// Name of the op that the pass is anchored on; empty for any op.
    const ANCHOR: &'static str;
    /// Declared options, in table order.
    const OPTIONS: &'static [OptionDeclaration];
    /// Declared statistics, in table order.
    const STATISTICS: &'static [StatisticDeclaration];
    /// Dialects whose entities the pass creates.
    const DIALECTS: &'static [DialectHandle];

    /// Reads the values of one run.
    fn read_options(values: &OptionValues<'_>) -> Self::Options;

    /// The statistic's position in the table.
    fn statistic_index(statistic: Self::Statistic) -> usize;

    /// Runs the pass on one op.
    ///
    /// # Errors
    ///
    /// See [`PassError`]; the IR may be left in any state, and the pass manager stops.
    fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, Self>) -> PassResult<'c>;
}

/// An option as Passes.td declares it.
#[derive(Clone, Copy, Debug)]
pub struct OptionDeclaration {
    /// Name in `{name=value}`.
    pub argument: &'static str,
    /// Help text.
    pub description: &'static str,
    /// Kind and default.
    pub default: OptionDefault,
}

/// The kind of an option and its default.
#[derive(Clone, Copy, Debug)]
pub enum OptionDefault {
    /// A 64-bit integer.
    Integer(i64),
    /// `true` or `false`.
    Bool(bool),
    /// Text.
    Text(&'static str),
    /// A list of 64-bit integers, empty by default.
    EmptyList,
}

/// A counter as Passes.td declares it.
#[derive(Clone, Copy, Debug)]
pub struct StatisticDeclaration {
    /// Name in the report.
    pub name: &'static str,
    /// What is counted.
    pub description: &'static str,
}

/// The option values of one run, by position in the table.
#[derive(Clone, Copy, Debug)]
pub struct OptionValues<'a> {
    values: &'a [RawOptionValue],
}

impl OptionValues<'_> {
    /// The value of an integer option.
    pub fn integer(&self, index: usize) -> i64 {
        self.values[index].integer
    }

    /// The value of a bool option.
    pub fn boolean(&self, index: usize) -> bool {
        self.values[index].integer != 0
    }

    /// The value of a text option; bytes that are not UTF-8 are replaced.
    pub fn text(&self, index: usize) -> String {
        let text = self.values[index].string;
        // SAFETY: the shim fills `string` of a text option from a live std::string.
        let bytes = unsafe { raw_slice(text.data.cast::<u8>(), text.length) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// The value of a list option.
    pub fn integer_list(&self, index: usize) -> Vec<i64> {
        let value = self.values[index];
        // SAFETY: the shim fills both fields of a list option from a live std::vector.
        unsafe { raw_slice(value.list, value.list_size as usize) }.to_vec()
    }
}

/// A slice from C, where an empty one may be null.
///
/// # Safety
///
/// `data` must point to `size` initialised elements that live for `'a`, unless `size` is 0.
unsafe fn raw_slice<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if size == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(data, size) }
}

/// What [`Pass::run`] returns.
pub type PassResult<'c> = Result<(), PassError<'c>>;

/// Why a pass failed.
#[derive(Debug)]
pub enum PassError<'c> {
    /// A diagnostic that the pass built; the adapter emits it.
    Diagnosed(Diagnostic<'c>),
    /// MLIR has emitted diagnostics already (a conversion or a nested pipeline failed).
    Reported,
    /// A call into the bindings failed, or an invariant does not hold; reported as an internal error at the op the pass ran on.
    Internal(String),
}

impl<'c> PassError<'c> {
    /// Emits the error unless MLIR has emitted it. An internal error without a location of its own gets `location`.
    pub fn emit(self, location: Location<'c>, pass: &str) {
        match self {
            Self::Diagnosed(diagnostic) => diagnostic.emit(Some(pass)),
            Self::Internal(message) => Diagnostic::internal(location, message).emit(Some(pass)),
            Self::Reported => {}
        }
    }
}

impl<'c> From<Diagnostic<'c>> for PassError<'c> {
    fn from(diagnostic: Diagnostic<'c>) -> Self {
        Self::Diagnosed(diagnostic)
    }
}

impl From<melior::Error> for PassError<'_> {
    fn from(error: melior::Error) -> Self {
        Self::Internal(error.to_string())
    }
}

/// Everything a pass may use while it runs, besides its op.
pub struct PassContext<'c, P: Pass> {
    context: &'c Context,
    options: P::Options,
    raw: *mut c_void,
}

impl<'c, P: Pass> PassContext<'c, P> {
    /// The MLIR context.
    pub fn context(&self) -> &'c Context {
        self.context
    }

    /// The options of this run.
    pub fn options(&self) -> &P::Options {
        &self.options
    }

    /// Adds to a statistic; `--mlir-pass-statistics` prints statistics if LLVM was built with them.
    pub fn count(&self, statistic: P::Statistic, amount: u64) {
        // SAFETY: `raw` is the pass that is running, and the index is within its table.
        unsafe { normaPassCount(self.raw, P::statistic_index(statistic) as isize, amount) }
    }

    /// Emits a warning.
    pub fn warn(&self, location: Location<'c>, text: impl fmt::Display) {
        emit(location, Severity::Warning, &text.to_string(), &[]);
    }

    /// Emits a remark, for instance why an optimisation was not applied.
    pub fn remark(&self, location: Location<'c>, text: impl fmt::Display) {
        emit(location, Severity::Remark, &text.to_string(), &[]);
    }

    /// Runs a textual pipeline (`"canonicalize,cse"`) on the pass's op or one nested in it.
    ///
    /// # Errors
    ///
    /// [`PassError::Reported`] if the pipeline fails.
    pub fn run_pipeline(&self, pipeline: &str, op: OperationRef<'c, '_>) -> PassResult<'c> {
        // SAFETY: `raw` is the pass that is running; the text outlives the call.
        let success =
            unsafe { normaPassRunPipeline(self.raw, StringRef::new(pipeline).to_raw(), op.to_raw()) };
        if success { Ok(()) } else { Err(PassError::Reported) }
    }
}

impl<P: Pass> fmt::Debug for PassContext<'_, P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PassContext({})", P::ARGUMENT)
    }
}

/// Adds a pass to MLIR's registry. MLIR aborts if the same argument is registered again with another class, so callers go through
/// [`crate::register_passes`], which runs once.
pub(crate) fn register<P: Pass>() {
    let raw = |text: &'static str| StringRef::new(text).to_raw();
    let options = P::OPTIONS
        .iter()
        .map(|option| {
            let (kind, default_integer, default_string) = match option.default {
                OptionDefault::Integer(value) => (0, value, ""),
                OptionDefault::Bool(value) => (1, i64::from(value), ""),
                OptionDefault::Text(value) => (2, 0, value),
                OptionDefault::EmptyList => (3, 0, ""),
            };
            RawOption {
                argument: raw(option.argument),
                description: raw(option.description),
                kind,
                default_integer,
                default_string: raw(default_string),
            }
        })
        .collect::<Vec<_>>();
    let statistics = P::STATISTICS
        .iter()
        .map(|statistic| RawStatistic {
            name: raw(statistic.name),
            description: raw(statistic.description),
        })
        .collect::<Vec<_>>();
    let pass = RawPass {
        name: raw(P::NAME),
        argument: raw(P::ARGUMENT),
        summary: raw(P::SUMMARY),
        anchor: raw(P::ANCHOR),
        options: options.as_ptr(),
        option_count: options.len() as isize,
        statistics: statistics.as_ptr(),
        statistic_count: statistics.len() as isize,
        dialects: P::DIALECTS.as_ptr(),
        dialect_count: P::DIALECTS.len() as isize,
        run: run_adapter::<P>,
    };
    // SAFETY: every pointer in `pass` outlives the call, which copies what it keeps.
    unsafe { normaRegisterPass(&pass) }
}

/// Runs `P` on behalf of the C++ class: reads the options, catches panics, and emits errors.
unsafe extern "C" fn run_adapter<P: Pass>(
    op: MlirOperation,
    options: *const RawOptionValue,
    raw: *mut c_void,
) -> bool {
    // SAFETY: MLIR passes a live op, which it keeps for the run, and the shim one value for each declared option.
    let (op, values) = unsafe { (OperationRef::from_raw(op), raw_slice(options, P::OPTIONS.len())) };
    let location = op.location();
    let result = guard::catch(|| {
        let options = P::read_options(&OptionValues { values });
        P::run(
            op,
            &PassContext {
                context: context::of(location),
                options,
                raw,
            },
        )
    });
    match result {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => error.emit(location, P::ARGUMENT),
        Err(panic) => PassError::Internal(panic).emit(location, P::ARGUMENT),
    }
    false
}

#[repr(C)]
struct RawOption {
    argument: MlirStringRef,
    description: MlirStringRef,
    kind: i32,
    default_integer: i64,
    default_string: MlirStringRef,
}

#[repr(C)]
struct RawStatistic {
    name: MlirStringRef,
    description: MlirStringRef,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct RawOptionValue {
    integer: i64,
    string: MlirStringRef,
    list: *const i64,
    list_size: isize,
}

#[repr(C)]
struct RawPass {
    name: MlirStringRef,
    argument: MlirStringRef,
    summary: MlirStringRef,
    anchor: MlirStringRef,
    options: *const RawOption,
    option_count: isize,
    statistics: *const RawStatistic,
    statistic_count: isize,
    dialects: *const DialectHandle,
    dialect_count: isize,
    run: unsafe extern "C" fn(MlirOperation, *const RawOptionValue, *mut c_void) -> bool,
}

unsafe extern "C" {
    fn normaRegisterPass(pass: *const RawPass);
    fn normaPassCount(pass: *mut c_void, statistic: isize, amount: u64);
    fn normaPassRunPipeline(pass: *mut c_void, pipeline: MlirStringRef, op: MlirOperation) -> bool;
}
