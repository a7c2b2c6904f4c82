//! Evaluates a kernel's launch from the manifest, in the simulator's terms.

use std::collections::BTreeMap;

use norma_bundle::manifest::{Kernel, ScalarType, WorkspaceInit};
use norma_compiler::Target;
use norma_oracle::launch::{self, Parameter, Symbols};
use norma_oracle::problem::Problem;
use norma_simulator::memory::{Buffer, BufferAccess, Contents, Memory};
use norma_simulator::{Argument, Launch, TensorMap};

use crate::error::Error;

/// The alignment that cuMemAlloc guarantees, in bytes.
const WORKSPACE_ALIGNMENT: u32 = 256;

/// The indices of tensors and workspaces in the simulator's memory.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// By the tensors' names.
    pub tensors: BTreeMap<String, usize>,
    /// By the workspaces' names.
    pub workspaces: BTreeMap<String, Workspace>,
    /// The bytes that further buffers may take.
    pub bytes_left: u64,
}

/// A workspace in memory.
#[derive(Clone, Copy, Debug)]
pub struct Workspace {
    /// Its index in the simulator's memory.
    pub index: usize,
    /// Its initial contents.
    pub init: WorkspaceInit,
}

impl Places {
    /// Subtracts the bytes of a buffer from those that are left.
    ///
    /// # Errors
    /// It needs more than are left.
    pub fn take(&mut self, name: &str, bytes: u64) -> Result<(), Error> {
        self.bytes_left = self
            .bytes_left
            .checked_sub(bytes)
            .ok_or_else(|| Error::TooLarge {
                name: name.to_owned(),
                bytes,
                left: self.bytes_left,
            })?;
        Ok(())
    }
}

/// The kernels of a problem's function that are launched for its sizes, in order.
///
/// # Errors
/// A condition that cannot be evaluated.
pub fn launched<'p>(problem: &Problem<'p>, multiprocessors: u32) -> Result<Vec<&'p Kernel>, Error> {
    let mut launched = Vec::new();
    for kernel in &problem.function.kernels {
        let mut symbols = problem.kernel_symbols(kernel);
        symbols.insert("num_sms".to_owned(), i64::from(multiprocessors));
        if launch::is_launched(kernel, &symbols)? {
            launched.push(kernel);
        }
    }
    Ok(launched)
}

/// Evaluates a kernel's launch, and adds workspaces that are new to the memory.
///
/// # Errors
/// A size or parameter that cannot be evaluated.
pub fn evaluate(
    problem: &Problem<'_>,
    kernel: &Kernel,
    multiprocessors: u32,
    memory: &mut Memory,
    places: &mut Places,
) -> Result<Launch, Error> {
    let symbols = symbols(problem, kernel, multiprocessors)?;
    let mut arguments = Vec::new();
    for parameter in launch::parameters(problem, kernel, &symbols)? {
        arguments.push(match parameter {
            Parameter::Tensor(name) => Argument::Buffer(tensor(places, name)?),
            Parameter::Scalar { scalar, bytes } => Argument::Scalar(bits(scalar, bytes)),
            Parameter::Workspace { name, bytes, init } => {
                if !places.workspaces.contains_key(name) {
                    places.take(name, bytes as u64)?;
                }
                let place = places.workspaces.entry(name.to_owned()).or_insert_with(|| {
                    let index = memory.add(Buffer {
                        name: name.to_owned(),
                        access: BufferAccess::Workspace,
                        contents: match init {
                            WorkspaceInit::Zero => Contents::Bytes(vec![0; bytes]),
                            WorkspaceInit::None => Contents::Uninitialized(bytes),
                        },
                        align: WORKSPACE_ALIGNMENT,
                        pending: false,
                    });
                    Workspace { index, init }
                });
                Argument::Buffer(place.index)
            }
            Parameter::TensorMap {
                map,
                dims,
                strides_bytes,
            } => Argument::TensorMap(TensorMap {
                buffer: tensor(places, &map.tensor)?,
                element: map.element,
                dims,
                strides: strides_bytes,
                box_dims: map.box_dims.clone(),
                swizzle: map.swizzle,
            }),
        });
    }
    Ok(Launch {
        kernel: kernel.symbol.clone(),
        grid: launch::grid(kernel, &symbols)?,
        block: kernel.block,
        cluster: kernel.cluster,
        shared_bytes: launch::shared_bytes(kernel, &symbols)?,
        programmatic: kernel.programmatic_dependent_launch,
        arguments,
    })
}

/// The symbols of the kernel's expressions. The number of CTAs per SM is limited by threads and shared memory, and by
/// registers if they are known.
fn symbols(problem: &Problem<'_>, kernel: &Kernel, multiprocessors: u32) -> Result<Symbols, Error> {
    let mut symbols = problem.kernel_symbols(kernel);
    symbols.insert("num_sms".to_owned(), i64::from(multiprocessors));
    let mut ctas = 1;
    if let Ok(target) = Target::parse(&kernel.target)
        && kernel.counts_ctas()
    {
        // The launch itself is checked elsewhere; counts that no device supports must merely not overflow here.
        let counts = kernel.block.iter().map(|count| u64::from(*count).max(1));
        let threads = counts.fold(1, u64::saturating_mul);
        let dynamic = u64::from(launch::shared_bytes(kernel, &symbols)?);
        let shared = dynamic + u64::from(kernel.static_shared_bytes.unwrap_or(0));
        let occupancy = target.occupancy(threads, kernel.registers.map(u64::from), shared);
        ctas = i64::try_from(occupancy).unwrap_or(1).max(1);
    }
    symbols.insert("ctas_per_sm".to_owned(), ctas);
    Ok(symbols)
}

fn tensor(places: &Places, name: &str) -> Result<usize, Error> {
    let place = places.tensors.get(name).copied();
    place.ok_or_else(|| Error::Request(format!("the function has no tensor '{name}'")))
}

/// A scalar's bits; those above its width are zero.
fn bits(scalar: ScalarType, bytes: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(bytes);
    match scalar {
        ScalarType::I32 | ScalarType::U32 | ScalarType::F32 => word & 0xffff_ffff,
        ScalarType::I64 | ScalarType::U64 | ScalarType::F64 => word,
    }
}

#[cfg(test)]
mod tests {
    use norma_bundle::condition::{Condition, Relation};
    use norma_bundle::{Expression, Manifest};

    use super::*;

    #[test]
    fn a_launch_is_what_the_manifest_says_for_the_sizes() {
        let text = include_str!("../../../bundle/testdata/rms_norm.json");
        let manifest: Manifest = serde_json::from_str(text).unwrap();
        let function = &manifest.functions[0];
        let sizes = BTreeMap::from([("m".to_owned(), 5)]);
        let problem = Problem::new(function, sizes, BTreeMap::new(), BTreeMap::new()).unwrap();
        let mut places = Places::default();
        for (index, tensor) in function.tensors().enumerate() {
            places.tensors.insert(tensor.name.clone(), index);
        }
        let kernel = &function.kernels[0];
        let launch = evaluate(&problem, kernel, 132, &mut Memory::new(0), &mut places).unwrap();
        assert_eq!(launch.kernel, kernel.symbol);
        assert_eq!((launch.block, launch.cluster), (kernel.block, kernel.cluster));
        assert_eq!(launch.grid, [3, 1, 1]);
        assert_eq!(launch.arguments.len(), kernel.args.len());
        assert!(launch.arguments.contains(&Argument::Buffer(0)));
    }

    /// Whatever a manifest claims, its expressions can be evaluated; the driver's rules refuse impossible launches.
    #[test]
    fn what_no_device_has_is_counted_without_overflow() {
        let text = include_str!("../../../bundle/testdata/rms_norm.json");
        let mut manifest: Manifest = serde_json::from_str(text).unwrap();
        let function = &mut manifest.functions[0];
        let kernel = &mut function.kernels[0];
        kernel.registers = Some(1 << 24);
        kernel.block = [u32::MAX; 3];
        kernel.static_shared_bytes = Some(u32::MAX);
        let sizes = BTreeMap::from([("m".to_owned(), 5)]);
        let problem = Problem::new(function, sizes, BTreeMap::new(), BTreeMap::new()).unwrap();
        let symbols = symbols(&problem, &function.kernels[0], 132).unwrap();
        assert_eq!(symbols["ctas_per_sm"], 1);
    }

    /// Launchers bind the symbol to the occupancy except for clusters, and so a grid over it has the same size here.
    #[test]
    fn the_ctas_of_an_sm_are_counted_as_launchers_count_them() {
        let text = include_str!("../../../bundle/testdata/rms_norm.json");
        let manifest: Manifest = serde_json::from_str(text).unwrap();
        let function = &manifest.functions[0];
        let sizes = BTreeMap::from([("m".to_owned(), 100_000)]);
        let problem = Problem::new(function, sizes, BTreeMap::new(), BTreeMap::new()).unwrap();
        let grid = |cluster: [u32; 3]| {
            let mut kernel = function.kernels[0].clone();
            kernel.grid[0] = Expression::parse("min(m, num_sms*ctas_per_sm)").unwrap();
            kernel.block = [256, 1, 1];
            kernel.registers = Some(32);
            kernel.shared_bytes = Expression::from(1024);
            kernel.static_shared_bytes = Some(0);
            kernel.cluster = cluster;
            launch::grid(&kernel, &symbols(&problem, &kernel, 132).unwrap()).unwrap()[0]
        };
        assert_eq!(grid([1, 1, 1]), 132 * 8);
        assert_eq!(grid([2, 1, 1]), 132);
        assert_eq!(grid([1, 2, 1]), 132);
    }

    #[test]
    fn of_alternatives_the_one_for_the_sizes_is_launched() {
        let text = include_str!("../../../bundle/testdata/rms_norm.json");
        let mut manifest: Manifest = serde_json::from_str(text).unwrap();
        let few = Condition {
            left: Expression::parse("num_sms").unwrap(),
            relation: Relation::AtLeast,
            right: Expression::symbol("m"),
            text: String::new(),
        };
        let function = &mut manifest.functions[0];
        let mut many = function.kernels[0].clone();
        many.symbol = "many".into();
        many.when = vec![few.negated().unwrap()];
        function.kernels[0].symbol = "few".into();
        function.kernels[0].when = vec![few];
        function.kernels.push(many);
        for (m, expected) in [(1, "few"), (132, "few"), (133, "many")] {
            let sizes = BTreeMap::from([("m".to_owned(), m)]);
            let problem =
                Problem::new(&manifest.functions[0], sizes, BTreeMap::new(), BTreeMap::new()).unwrap();
            let names = launched(&problem, 132)
                .unwrap()
                .into_iter()
                .map(|kernel| kernel.symbol.as_str());
            assert_eq!(names.collect::<Vec<_>>(), [expected], "{m} rows");
        }
    }

    #[test]
    fn narrow_scalars_have_nothing_above_their_bits() {
        let minus_one = (-1i64).to_le_bytes();
        assert_eq!(bits(ScalarType::I32, minus_one), 0xffff_ffff);
        assert_eq!(bits(ScalarType::I64, minus_one), u64::MAX);
    }
}
