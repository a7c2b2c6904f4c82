//! Plans the launch of a kernel.

use norma_bundle::expression::EvaluateError;
use norma_bundle::manifest::{
    Argument, CTAS_PER_SM, Function, Kernel, NUM_SMS, ScalarType, ScalarValue, TensorMap,
};
use norma_bundle::{Element, Expression, RANGE_OF_F32, is_in_range_of_f32};

use super::code::{Comparison, Compiler, Names, Section, Slot, Values};
use super::{Places, Workspace};
use crate::error::CallError;
use crate::tensor::Scalar;

/// A kernel, prepared for launches.
#[derive(Debug)]
pub(crate) struct KernelPlan {
    /// Computes the sides of `when`.
    pub(super) choice: Section,
    /// The kernel is launched if all of these hold.
    pub(super) when: Box<[Comparison]>,
    /// Computes the dynamic shared memory.
    pub(super) sharing: Section,
    pub(crate) shared_bytes: Slot,
    /// The value for the number of CTAs that fit a multiprocessor, if the kernel's expressions use it.
    pub(crate) ctas_per_sm: Option<Slot>,
    /// The dynamic shared memory in bytes, if it is constant.
    pub(crate) constant_shared_bytes: Option<i64>,
    /// Computes the grid and the arguments.
    pub(super) body: Section,
    pub(crate) grid: [Slot; 3],
    pub(crate) arguments: Box<[ArgumentPlan]>,
}

/// A parameter of a kernel.
#[derive(Debug)]
pub(crate) enum ArgumentPlan {
    /// The address of a tensor.
    Tensor(usize),
    /// A number.
    Scalar(ScalarPlan),
    /// The address of a workspace, and the number of bytes that the kernel uses.
    Workspace(usize, Slot),
    /// A tensor map.
    TensorMap(Box<TensorMapPlan>),
}

/// A number that is passed by value.
#[derive(Debug)]
pub(crate) struct ScalarPlan {
    scalar: ScalarType,
    /// `None` if the caller cannot set it.
    named: Option<NamedScalar>,
    default: ScalarDefault,
}

/// A scalar that the caller may set.
#[derive(Debug)]
struct NamedScalar {
    name: String,
    /// Its position among these scalars.
    place: usize,
}

#[derive(Debug)]
enum ScalarDefault {
    Float(f64),
    Computed(Slot),
}

/// A tensor map, prepared for launches.
#[derive(Debug)]
pub(crate) struct TensorMapPlan {
    pub(crate) map: TensorMap,
    pub(crate) tensor: usize,
    pub(crate) dims: Box<[Slot]>,
    pub(crate) strides_bytes: Box<[Slot]>,
}

/// The context in which a kernel's expressions and arguments are resolved.
pub(super) struct Scope<'a> {
    pub(super) function: &'a Function,
    pub(super) places: &'a [Places],
    pub(super) multiprocessors: Slot,
    pub(super) scalar_names: &'a [&'a str],
}

impl Scope<'_> {
    /// The position of a tensor in the function; names have been validated.
    fn tensor(&self, name: &str) -> usize {
        let position = self.function.tensors().position(|tensor| tensor.name == name);
        position.unwrap_or_default()
    }

    /// The value of a symbol of the kernel.
    fn symbol(&self, kernel: &Kernel, name: &str) -> Option<Slot> {
        if name == NUM_SMS {
            return Some(self.multiprocessors);
        }
        let symbol = kernel.symbols.iter().find(|symbol| symbol.name == name)?;
        let places = &self.places[self.tensor(&symbol.tensor)];
        Some(places.of(symbol.of, symbol.dim))
    }
}

impl KernelPlan {
    /// Prepares a kernel, and adds workspaces that earlier kernels did not use.
    ///
    /// # Errors
    /// An expression uses a symbol whose value is not known at that point.
    pub(super) fn new(
        compiler: &mut Compiler,
        kernel: &Kernel,
        scope: &Scope<'_>,
        workspaces: &mut Vec<Workspace>,
    ) -> Result<Self, EvaluateError> {
        let known = |name: &str| scope.symbol(kernel, name);
        let (choice, when) = compiler.section(|compiler| {
            let conditions = kernel.when.iter();
            conditions
                .map(|condition| compiler.condition(condition, &known))
                .collect::<Result<Box<_>, _>>()
        })?;
        let (sharing, shared_bytes) =
            compiler.section(|compiler| compiler.expression(&kernel.shared_bytes, &known))?;
        let uses_occupancy = uses(kernel, CTAS_PER_SM);
        let ctas_per_sm = uses_occupancy.then(|| compiler.input());
        let known = |name: &str| match name == CTAS_PER_SM {
            true => ctas_per_sm,
            false => scope.symbol(kernel, name),
        };
        let (body, (grid, arguments)) = compiler.section(|compiler| {
            let [x, y, z] = &kernel.grid;
            let mut extent = |extent| compiler.expression(extent, &known);
            let grid = [extent(x)?, extent(y)?, extent(z)?];
            let mut arguments = Vec::new();
            for argument in &kernel.args {
                arguments.push(ArgumentPlan::new(compiler, argument, scope, workspaces, &known)?);
            }
            Ok((grid, arguments))
        })?;
        Ok(KernelPlan {
            choice,
            when,
            sharing,
            shared_bytes,
            ctas_per_sm,
            constant_shared_bytes: kernel.shared_bytes.as_integer(),
            body,
            grid,
            arguments: arguments.into(),
        })
    }
}

/// Whether the grid or an argument of a kernel depends on a symbol.
fn uses(kernel: &Kernel, symbol: &str) -> bool {
    let depends = |expression: &Expression| expression.symbols().contains(symbol);
    let argument_depends = |argument: &Argument| match argument {
        Argument::Pointer { .. } => false,
        Argument::Scalar { value, .. } => match value {
            ScalarValue::Expression(value) => depends(value),
            ScalarValue::Float(_) => false,
        },
        Argument::Workspace { bytes, .. } => depends(bytes),
        Argument::TensorMap(map) => map.dims.iter().chain(&map.strides_bytes).any(depends),
    };
    kernel.grid.iter().any(depends) || kernel.args.iter().any(argument_depends)
}

impl ArgumentPlan {
    fn new(
        compiler: &mut Compiler,
        argument: &Argument,
        scope: &Scope<'_>,
        workspaces: &mut Vec<Workspace>,
        known: Names<'_>,
    ) -> Result<Self, EvaluateError> {
        Ok(match argument {
            Argument::Pointer { tensor } => ArgumentPlan::Tensor(scope.tensor(tensor)),
            Argument::Scalar { name, scalar, value } => ArgumentPlan::Scalar(ScalarPlan {
                scalar: *scalar,
                named: name.as_ref().and_then(|name| {
                    let place = scope.scalar_names.iter().position(|known| known == name)?;
                    let name = name.clone();
                    Some(NamedScalar { name, place })
                }),
                default: match value {
                    ScalarValue::Float(value) => ScalarDefault::Float(value.as_f64()),
                    ScalarValue::Expression(value) => {
                        ScalarDefault::Computed(compiler.expression(value, known)?)
                    }
                },
            }),
            Argument::Workspace { name, bytes, init } => {
                let bytes = compiler.expression(bytes, known)?;
                let position = workspaces.iter().position(|workspace| workspace.name == *name);
                let position = position.unwrap_or_else(|| {
                    workspaces.push(Workspace {
                        name: name.clone(),
                        init: *init,
                    });
                    workspaces.len() - 1
                });
                ArgumentPlan::Workspace(position, bytes)
            }
            Argument::TensorMap(map) => {
                let mut compile = |expressions: &[Expression]| {
                    let slots = expressions
                        .iter()
                        .map(|expression| compiler.expression(expression, known));
                    slots.collect::<Result<Box<_>, _>>()
                };
                ArgumentPlan::TensorMap(Box::new(TensorMapPlan {
                    dims: compile(&map.dims)?,
                    strides_bytes: compile(&map.strides_bytes)?,
                    tensor: scope.tensor(&map.tensor),
                    map: map.clone(),
                }))
            }
        })
    }
}

impl ScalarPlan {
    /// Encodes the parameter, little-endian in the low bytes.
    ///
    /// # Errors
    /// The number does not fit the parameter's type.
    pub(super) fn encode(&self, scalars: &[Scalar], values: &Values) -> Result<u64, CallError> {
        let set = self
            .named
            .as_ref()
            .and_then(|named| scalars.get(named.place))
            .copied();
        let number = match (set.unwrap_or_default(), &self.default) {
            (Scalar::Default, ScalarDefault::Float(value)) => Scalar::Float(*value),
            (Scalar::Default, ScalarDefault::Computed(slot)) => Scalar::Integer(values[*slot]),
            (set, _) => set,
        };
        encode(self.scalar, number).ok_or_else(|| CallError::Argument(self.refusal(number)))
    }

    /// The message about a number that does not fit.
    fn refusal(&self, number: Scalar) -> String {
        let what = match &self.named {
            Some(NamedScalar { name, .. }) => format!("'{name}'"),
            None => "a scalar".to_owned(),
        };
        let expected = match self.scalar {
            ScalarType::F32 => format!("be {RANGE_OF_F32}"),
            scalar => format!("fit {scalar:?}"),
        };
        let got = match number {
            // This form has an exponent where there would be hundreds of zeros.
            Scalar::Float(value) => format!("{value:?}"),
            Scalar::Integer(value) => value.to_string(),
            Scalar::Default => String::new(),
        };
        format!("expected {what} to {expected}, got {got}")
    }
}

/// Encodes a number, rounded to the type's precision; `None` if it does not fit an integer type, or if f32 has only an infinity or 0 in
/// the place of a finite number or of one that is not 0.
fn encode(scalar: ScalarType, number: Scalar) -> Option<u64> {
    let integer = match number {
        Scalar::Float(_) if scalar.is_float() => 0,
        number => number.integer()?,
    };
    let float = match number {
        Scalar::Float(value) => value,
        _ => integer as f64,
    };
    Some(match scalar {
        ScalarType::F32 => is_in_range_of_f32(float).then(|| Element::F32.encode_float(float))?,
        ScalarType::F64 => float.to_bits(),
        ScalarType::I32 => u64::from(i32::try_from(integer).ok()?.cast_unsigned()),
        ScalarType::U32 => u64::from(u32::try_from(integer).ok()?),
        ScalarType::I64 => integer.cast_unsigned(),
        ScalarType::U64 => u64::try_from(integer).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_rounded_once_and_must_fit() {
        let bits = |value: f32| Some(u64::from(value.to_bits()));
        assert_eq!(encode(ScalarType::F32, Scalar::Float(1e-6)), bits(1e-6));
        assert_eq!(encode(ScalarType::F32, Scalar::Integer(1)), bits(1.0));
        assert_eq!(
            encode(ScalarType::F32, Scalar::Float(f64::NEG_INFINITY)),
            bits(f32::NEG_INFINITY)
        );
        // The largest number that rounds to the largest of f32, and the one behind it, which rounds to infinity.
        let beyond = 2f64.powi(128) - 2f64.powi(103);
        assert_eq!(
            encode(ScalarType::F32, Scalar::Float(beyond.next_down())),
            bits(f32::MAX)
        );
        assert_eq!(encode(ScalarType::F32, Scalar::Float(beyond)), None);
        assert_eq!(
            encode(ScalarType::F32, Scalar::Float(-1e-45)),
            bits(-f32::from_bits(1))
        );
        assert_eq!(encode(ScalarType::F32, Scalar::Float(-1e-50)), None);
        assert_eq!(encode(ScalarType::F32, Scalar::Float(-0.0)), bits(-0.0));
        assert!(encode(ScalarType::F32, Scalar::Float(f64::NAN)).is_some());
        assert_eq!(
            encode(ScalarType::F64, Scalar::Float(1e300)),
            Some(1e300f64.to_bits())
        );
        assert_eq!(encode(ScalarType::I32, Scalar::Integer(-1)), Some(0xffff_ffff));
        assert_eq!(encode(ScalarType::I32, Scalar::Integer(1 << 31)), None);
        assert_eq!(encode(ScalarType::I64, Scalar::Float(0.5)), None);
        assert_eq!(encode(ScalarType::I64, Scalar::Float(f64::NAN)), None);
        assert_eq!(encode(ScalarType::U32, Scalar::Integer(-1)), None);
        assert_eq!(
            encode(ScalarType::I64, Scalar::Float(-3.0)),
            Some(3u64.wrapping_neg())
        );
    }
}
