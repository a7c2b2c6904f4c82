//! Names the sizes that are known only at launch.
//!
//! Two dims share one size if a kernel implies it: a kernel whose space has a dim of extent `dim(%x, 0)` and which writes
//! `%y` at that dim makes the first extent of `y` equal to that of `x`.

use norma_bundle::Expression;
use norma_bundle::manifest::{Symbol, SymbolOf};

use super::{Sizes, classes::Classes};
use crate::bundle::affine::substitute;
use crate::bundle::host::{HostFunction, Role, dim_of_symbol};
use crate::bundle::kernel_form::KernelForms;

/// Finds out which dynamic dims are equal, and names each set of equal dims by the first name that the function gives one of them
/// (`norm.sizes`), or else by what its programs call one of them first (`norm.dims`), unless another set has that name already, or else
/// `m`, `m1` and so on. Dynamic strides get the names of their tensor and dim.
pub(in crate::bundle) fn name_sizes(host: &HostFunction, forms: &KernelForms) -> Sizes {
    let mut names = Names::of(host, Classes::of(host, forms));
    let mut symbols = Vec::new();
    let shapes = shapes(host, &mut names, &mut symbols);
    let strides = strides(host, &shapes, &mut symbols);
    Sizes {
        shapes,
        strides,
        symbols,
    }
}

/// The names of sets of equal dims.
struct Names<'h> {
    host: &'h HostFunction,
    classes: Classes,
    /// A dim of each set that the function names, and the name.
    given: Vec<(usize, &'h str)>,
    /// The sets without such a name that a program names, and the name.
    called: Vec<(usize, &'h str)>,
    /// The names in use, by set.
    used: Vec<(usize, String)>,
    /// How many of the names `m`, `m1` and so on have been considered.
    numbered: usize,
}

impl<'h> Names<'h> {
    /// Collects the names. Dims that the function gives the same name are equal.
    fn of(host: &'h HostFunction, mut classes: Classes) -> Self {
        let mut given: Vec<(usize, &str)> = Vec::new();
        for (slot, name) in classes.named(host, |tensor| &tensor.sizes) {
            match given.iter().find(|(_, known)| *known == name) {
                Some((other, _)) => classes.unite(*other, slot),
                None => given.push((slot, name)),
            }
        }
        let mut names = Self {
            host,
            classes,
            given,
            called: Vec::new(),
            used: Vec::new(),
            numbered: 0,
        };
        for (slot, name) in names.classes.named(host, |tensor| &tensor.dims) {
            let class = names.classes.find(slot);
            if names.is_free(name) && names.stated(class).is_none() {
                names.called.push((class, name));
            }
        }
        names
    }

    /// Whether nothing else has a name.
    fn is_free(&self, name: &str) -> bool {
        let mut stated = self.given.iter().chain(&self.called);
        let is_number = self.host.scalars.iter().any(|scalar| scalar.name == name);
        !is_number && stated.all(|(_, known)| *known != name)
    }

    /// The name that the function or a program has for a set.
    fn stated(&self, class: usize) -> Option<&'h str> {
        let mut stated = self.given.iter().chain(&self.called);
        let found = stated.find(|(slot, _)| self.classes.find(*slot) == class);
        found.map(|(_, name)| *name)
    }

    /// The name of the set of a dim, and whether it has just got it.
    fn name(&mut self, tensor: usize, dim: usize) -> (String, bool) {
        let class = self.classes.find(self.classes.slot(tensor, dim));
        if let Some((_, name)) = self.used.iter().find(|(known, _)| *known == class) {
            return (name.clone(), false);
        }
        let name = match self.stated(class) {
            Some(name) => name.to_owned(),
            None => self.next_numbered(),
        };
        self.used.push((class, name.clone()));
        (name, true)
    }

    /// The next of the names `m`, `m1` and so on that nothing else has.
    fn next_numbered(&mut self) -> String {
        loop {
            let name = match self.numbered {
                0 => "m".to_owned(),
                number => format!("m{number}"),
            };
            self.numbered += 1;
            if self.is_free(&name) {
                return name;
            }
        }
    }
}

/// The shapes of the tensors. Adds a symbol for each name that they use first.
fn shapes(host: &HostFunction, names: &mut Names<'_>, symbols: &mut Vec<Symbol>) -> Vec<Vec<Expression>> {
    let mut shapes: Vec<Vec<Expression>> = Vec::new();
    for (index, argument) in host.tensors.iter().enumerate() {
        let mut shape = Vec::new();
        for (dim, extent) in argument.shape.iter().enumerate() {
            if let Some(extent) = extent {
                shape.push(Expression::Integer(*extent));
                continue;
            }
            if let Role::Scratch { extents, .. } = &argument.role {
                shape.push(substitute(&extents[dim], &|symbol| {
                    let (tensor, dim) = dim_of_symbol(symbol)?;
                    shapes.get(tensor)?.get(dim).cloned()
                }));
                continue;
            }
            let (name, is_new) = names.name(index, dim);
            if is_new {
                symbols.push(Symbol {
                    name: name.clone(),
                    tensor: argument.name.clone(),
                    dim,
                    of: SymbolOf::Size,
                });
            }
            shape.push(Expression::symbol(name));
        }
        shapes.push(shape);
    }
    shapes
}

/// The strides of tensors of these shapes. Adds a symbol for each dynamic one.
fn strides(
    host: &HostFunction,
    shapes: &[Vec<Expression>],
    symbols: &mut Vec<Symbol>,
) -> Vec<Vec<Expression>> {
    let mut strides = Vec::<Vec<Expression>>::new();
    for (argument, shape) in host.tensors.iter().zip(shapes) {
        // An output over the memory of an input has the strides of that input.
        let of_input = host.overwritten_by(argument);
        let of_input = of_input.and_then(|input| strides.get(input).cloned());
        let of_input = |dim: usize| of_input.as_ref()?.get(dim).cloned();
        strides.push(match &argument.strides {
            None => contiguous(shape),
            Some(given) => given
                .iter()
                .enumerate()
                .map(|(dim, stride)| match stride {
                    Some(stride) => Expression::Integer(*stride),
                    None => of_input(dim).unwrap_or_else(|| {
                        let name = format!("{}_stride{dim}", argument.name);
                        let of = SymbolOf::Stride;
                        symbols.push(Symbol {
                            name: name.clone(),
                            tensor: argument.name.clone(),
                            dim,
                            of,
                        });
                        Expression::symbol(name)
                    }),
                })
                .collect(),
        });
    }
    strides
}

/// Row-major strides without gaps.
fn contiguous(shape: &[Expression]) -> Vec<Expression> {
    let mut strides = vec![Expression::Integer(1); shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim].clone() * shape[dim].clone();
    }
    strides
}
