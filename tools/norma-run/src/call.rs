//! A function on a device: its kernels loaded, their launches evaluated, and their parameters bound to memory.

use std::collections::BTreeMap;

use norma_bundle::Element;
use norma_bundle::expression::Expression;
use norma_bundle::manifest::{Argument, Kernel, ScalarType, ScalarValue, TensorMap};

use crate::bundle::Bundle;
use crate::driver::{Buffer, Device, DriverError, Function, Launch, Parameter, Stream, TensorMapShape};
use crate::failure::Failure;
use crate::problem::Problem;

/// Bytes before and after each tensor that no kernel may write. A multiple of every alignment a manifest asks for.
pub const GUARD: usize = 4096;
/// What guards, holes and outputs hold before a kernel runs: NaN in every float type.
pub const POISON: u8 = 0xff;

/// A kernel that is loaded and configured for its launch.
struct LoadedKernel<'a> {
    kernel: &'a Kernel,
    function: Function,
    symbols: BTreeMap<String, i64>,
    /// Absent where the grid is empty.
    launch: Option<Launch>,
}

/// A function whose kernels are loaded, for one choice of sizes.
pub struct Loaded<'a> {
    problem: &'a Problem<'a>,
    kernels: Vec<LoadedKernel<'a>>,
    /// The fewest bytes one call must move.
    pub bytes_moved: i64,
}

/// Device memory for every tensor of a function, with guards around each.
pub struct Tensors(BTreeMap<String, Buffer>);

/// One call: kernels, parameters and the memory they refer to.
pub struct Call<'l> {
    kernels: Vec<(&'l LoadedKernel<'l>, Vec<Parameter>)>,
    workspaces: BTreeMap<String, Buffer>,
}

impl<'a> Loaded<'a> {
    /// Loads the kernels of `bundle` that `problem` runs and evaluates their launches.
    ///
    /// # Errors
    /// A cubin that cannot be read, an expression without a value, or what the driver says.
    pub fn new(device: &Device, bundle: &Bundle, problem: &'a Problem<'a>) -> Result<Self, Failure> {
        let mut kernels = Vec::new();
        let mut bytes_moved = 0;
        for kernel in &problem.function.kernels {
            let function = device.load(&bundle.cubin(kernel)?, &kernel.symbol)?;
            let mut symbols = problem.kernel_symbols(kernel);
            symbols.insert("num_sms".to_owned(), i64::from(device.multiprocessors));
            let shared_bytes = small(&kernel.shared_bytes, &symbols, "shared_bytes")?;
            let cluster_size = kernel.cluster_size();
            function.configure(shared_bytes, kernel.shared_carveout, cluster_size)?;
            // Occupancy counts CTAs one by one, which says nothing about whole clusters.
            let threads = kernel.block.iter().product();
            let ctas = match cluster_size {
                1 => function.ctas_per_multiprocessor(threads, shared_bytes)?,
                _ => 1,
            };
            symbols.insert("ctas_per_sm".to_owned(), i64::from(ctas));
            let mut grid = [0; 3];
            for (extent, expression) in grid.iter_mut().zip(&kernel.grid) {
                *extent = small(expression, &symbols, "grid")?;
            }
            let launch = Launch {
                grid,
                block: kernel.block,
                cluster: kernel.cluster,
                shared_bytes,
                programmatic: kernel.programmatic_dependent_launch,
            };
            let launch = (!grid.contains(&0)).then_some(launch);
            bytes_moved += value(&kernel.bytes_read, &symbols)? + value(&kernel.bytes_written, &symbols)?;
            kernels.push(LoadedKernel {
                kernel,
                function,
                symbols,
                launch,
            });
        }
        Ok(Loaded {
            problem,
            kernels,
            bytes_moved,
        })
    }

    /// Binds the kernels to `tensors`, with workspaces of their own.
    ///
    /// # Errors
    /// An argument without a value, or what the driver says.
    pub fn bind(&self, device: &Device, tensors: &Tensors) -> Result<Call<'_>, Failure> {
        let mut workspaces = BTreeMap::new();
        let mut kernels = Vec::new();
        for loaded in &self.kernels {
            let arguments = loaded.kernel.args.iter();
            let parameters = arguments
                .map(|argument| self.parameter(device, loaded, argument, tensors, &mut workspaces))
                .collect::<Result<Vec<_>, _>>()?;
            kernels.push((loaded, parameters));
        }
        Ok(Call { kernels, workspaces })
    }

    fn parameter(
        &self,
        device: &Device,
        loaded: &LoadedKernel<'_>,
        argument: &Argument,
        tensors: &Tensors,
        workspaces: &mut BTreeMap<String, Buffer>,
    ) -> Result<Parameter, Failure> {
        let word = |address: u64| Parameter::Word(address.to_le_bytes());
        match argument {
            Argument::Pointer { tensor } => Ok(word(tensors.address(tensor))),
            Argument::Scalar {
                name,
                scalar,
                value: default,
            } => {
                let set = name.as_ref().and_then(|name| self.problem.scalars.get(name));
                scalar_word(*scalar, default, set.copied(), &loaded.symbols).map(Parameter::Word)
            }
            Argument::Workspace { name, bytes } => {
                let size = usize::try_from(value(bytes, &loaded.symbols)?).unwrap_or(0);
                if !workspaces.contains_key(name) {
                    workspaces.insert(name.clone(), device.allocate(size, 0)?);
                }
                Ok(word(workspaces[name].address()))
            }
            Argument::TensorMap(map) => {
                let evaluate = |sizes: &[Expression]| -> Result<Vec<u64>, Failure> {
                    sizes
                        .iter()
                        .map(|size| Ok(value(size, &loaded.symbols)?.unsigned_abs()))
                        .collect()
                };
                let (dims, strides_bytes) = (evaluate(&map.dims)?, evaluate(&map.strides_bytes)?);
                let descriptor = device.tensor_map(&TensorMapShape {
                    data_type: tensor_map_type(map),
                    address: tensors.address(&map.tensor),
                    dims: &dims,
                    strides_bytes: &strides_bytes,
                    box_dims: &map.box_dims,
                    swizzle: map.swizzle,
                    l2_promotion: map.l2_promotion,
                })?;
                Ok(Parameter::TensorMap(Box::new(descriptor)))
            }
        }
    }
}

impl Tensors {
    /// Allocates every tensor of `problem`; inputs hold `host`, everything else is poisoned.
    ///
    /// # Errors
    /// What the driver says, out of memory above all.
    pub fn new(
        device: &Device,
        problem: &Problem<'_>,
        host: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Self, DriverError> {
        let mut buffers = BTreeMap::new();
        for tensor in problem.function.tensors() {
            let buffer = device.allocate(problem.span_bytes(tensor) + 2 * GUARD, POISON)?;
            if let Some(data) = host.get(&tensor.name) {
                buffer.write(GUARD, data)?;
            }
            buffers.insert(tensor.name.clone(), buffer);
        }
        Ok(Tensors(buffers))
    }

    /// A tensor's memory with its guards.
    pub fn buffer(&self, tensor: &str) -> &Buffer {
        &self.0[tensor]
    }

    fn address(&self, tensor: &str) -> u64 {
        self.0[tensor].address() + GUARD as u64
    }
}

impl Call<'_> {
    /// Launches the kernels in order on `stream`; an empty grid launches nothing.
    ///
    /// # Errors
    /// What the driver says of a launch.
    pub fn enqueue(&mut self, stream: &Stream) -> Result<(), DriverError> {
        for (loaded, parameters) in &mut self.kernels {
            if let Some(launch) = &loaded.launch {
                loaded.function.launch(launch, parameters, stream)?;
            }
        }
        Ok(())
    }

    /// The workspaces that the kernels did not leave zero, as the next call expects them.
    ///
    /// # Errors
    /// What the driver says.
    pub fn dirty_workspaces(&self) -> Result<Vec<String>, DriverError> {
        let mut dirty = Vec::new();
        for (name, buffer) in &self.workspaces {
            if buffer.read()?.iter().any(|byte| *byte != 0) {
                dirty.push(name.clone());
            }
        }
        Ok(dirty)
    }
}

fn value(expression: &Expression, symbols: &BTreeMap<String, i64>) -> Result<i64, Failure> {
    Ok(expression.evaluate(&|name| symbols.get(name).copied())?)
}

/// The value of a launch's field, which is a 32-bit number.
fn small(expression: &Expression, symbols: &BTreeMap<String, i64>, what: &str) -> Result<u32, Failure> {
    let value = value(expression, symbols)?;
    u32::try_from(value).map_err(|_| {
        Failure::Request(format!(
            "expected {what} '{expression}' to fit in 32 bits, got {value}"
        ))
    })
}

/// A scalar parameter's bytes: the caller's value, or else the manifest's.
fn scalar_word(
    scalar: ScalarType,
    default: &ScalarValue,
    set: Option<f64>,
    symbols: &BTreeMap<String, i64>,
) -> Result<[u8; 8], Failure> {
    let out_of_range = |value: &dyn std::fmt::Display| {
        Failure::Request(format!("expected a scalar that fits {scalar:?}, got {value}"))
    };
    if scalar.is_float() {
        let number = match (set, default) {
            (Some(number), _) => number,
            (None, ScalarValue::Float(number)) => number.as_f64(),
            (None, ScalarValue::Expression(expression)) => value(expression, symbols)? as f64,
        };
        let element = if scalar == ScalarType::F32 {
            Element::F32
        } else {
            Element::F64
        };
        return Ok(element.encode_float(number).to_le_bytes());
    }
    let number = match (set, default) {
        (Some(number), _) if number.fract() == 0.0 && number.abs() < i64::MAX as f64 => number as i64,
        (Some(number), _) => return Err(out_of_range(&number)),
        (None, ScalarValue::Float(number)) => number.as_i64(),
        (None, ScalarValue::Expression(expression)) => value(expression, symbols)?,
    };
    let fits = match scalar {
        ScalarType::I32 => i32::try_from(number).is_ok(),
        ScalarType::U32 => u32::try_from(number).is_ok(),
        ScalarType::U64 => number >= 0,
        ScalarType::I64 | ScalarType::F32 | ScalarType::F64 => true,
    };
    if fits {
        Ok(number.to_le_bytes())
    } else {
        Err(out_of_range(&number))
    }
}

/// `CUtensorMapDataType`. The copy engine moves fp8 as bytes.
fn tensor_map_type(map: &TensorMap) -> i32 {
    match map.element {
        Element::I1 | Element::I8 | Element::F8E4M3FN | Element::F8E5M2 => 0,
        Element::I32 => 3,
        Element::I64 => 5,
        Element::F16 => 6,
        Element::F32 => 7,
        Element::F64 => 8,
        Element::BF16 => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(scalar: ScalarType, default: &str, set: Option<f64>) -> Result<[u8; 8], String> {
        let default: ScalarValue = serde_json::from_str(default).unwrap();
        let symbols = BTreeMap::from([("m".to_owned(), 5_000_000_000)]);
        scalar_word(scalar, &default, set, &symbols).map_err(|error| error.to_string())
    }

    #[test]
    fn scalars_take_the_callers_value_first() {
        let bytes = |number: f32| u64::from(number.to_bits()).to_le_bytes();
        assert_eq!(word(ScalarType::F32, "1e-6", None), Ok(bytes(1e-6)));
        assert_eq!(word(ScalarType::F32, "1e-6", Some(2.0)), Ok(bytes(2.0)));
        assert_eq!(word(ScalarType::F32, "1", None), Ok(bytes(1.0)));
        assert_eq!(
            word(ScalarType::I64, "\"m\"", None),
            Ok(5_000_000_000i64.to_le_bytes())
        );
    }

    #[test]
    fn scalars_must_fit_their_type() {
        assert!(
            word(ScalarType::I32, "\"m\"", None)
                .unwrap_err()
                .contains("fits I32, got 5000000000")
        );
        assert!(word(ScalarType::I64, "1", Some(0.5)).is_err());
        assert!(word(ScalarType::U32, "-1", None).is_err());
    }

    #[test]
    fn launch_fields_are_32_bit() {
        let symbols = BTreeMap::from([("m".to_owned(), 1 << 40)]);
        assert!(small(&Expression::symbol("m"), &symbols, "grid").is_err());
        assert_eq!(small(&Expression::from(7), &symbols, "grid").unwrap(), 7);
    }
}
