//! Builds the functions that one device runs: one for each round, and the last one.

use std::collections::{BTreeSet, HashMap, HashSet};

use melior::ir::{
    Attribute, Block, BlockLike, Identifier, OperationRef, Region, RegionLike, Type, Value, ValueLike,
    attribute::{
        DenseI64ArrayAttribute, DictionaryAttribute, IntegerAttribute, StringAttribute, TypeAttribute,
    },
    operation::OperationLike,
    r#type::{FunctionType, IntegerType},
};
use norma_bundle::manifest::sharded::OFFSET;
use norma_dialects::attributes::{function::SHARDED, tensor};

use super::{
    axes::Axes,
    emit::{Outside, emit},
    exchanges::{Exchange, Program},
    needs::Needs,
};
use crate::{
    gcd::gcd,
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassError, PassResult},
        types,
        values::key,
        walk,
    },
    norm::host_function::{Body, Tensor, Tensors, entries},
};

/// A function, and the analyses that its runs are built from.
pub(super) struct Sharded<'s, 'c, 'a> {
    pub(super) function: OperationRef<'c, 'a>,
    pub(super) body: &'s Body<'c, 'a>,
    pub(super) axes: &'s Axes,
    pub(super) programs: &'s [Program<'c, 'a>],
    pub(super) exchanges: &'s [Exchange<'c>],
    pub(super) tensors: &'s Tensors<'c>,
}

impl<'c: 'a, 'a> Sharded<'_, 'c, 'a> {
    /// Refuses arguments and results that have the name of a state or of the offset, which runs add to their signatures.
    pub(super) fn check_names(&self) -> PassResult<'c> {
        let own = self.exchanges.iter().map(|exchange| exchange.name.as_str());
        let own = own.chain([OFFSET]).collect::<HashSet<_>>();
        let tensors = self.tensors.arguments.iter().chain(&self.tensors.results);
        let mut tensors = tensors.filter(|tensor| own.contains(tensor.name.as_str()));
        let Some(tensor) = tensors.next() else {
            return Ok(());
        };
        let message = format!(
            "expected no '{}' among the arguments and results of a sharded function: one device's run of it has another",
            tensor.name
        );
        Err(Diagnostic::user(self.function.location(), message).into())
    }

    /// Inserts a run before the function: the one that ends with the states of `round`, or, with `None`, the last one, which returns the
    /// results.
    pub(super) fn run(&self, name: &str, round: Option<usize>) -> PassResult<'c> {
        let needs = self.needs(round)?;
        let taken = self.taken(&needs)?;
        let (arguments, results) = self.signature(&needs, &taken, round)?;
        let b = Builder::before(self.function);
        let function = self.declare(&b, name, arguments.iter().map(|argument| argument.ty).collect())?;
        Tensors { arguments, results }.set(function);
        let block = walk::entry_block(function)?;
        let mut given = (0..block.argument_count())
            .map(|index| block.argument(index).map(Value::from))
            .collect::<Result<Vec<_>, _>>()?
            .into_iter();

        let mut values = HashMap::new();
        for argument in &taken {
            let old = Value::from(self.body.block.argument(*argument)?);
            values.extend(given.next().map(|new| (key(old), new)));
        }
        let mut gathered = vec![None; self.exchanges.len()];
        for exchange in gathered_in(&needs) {
            gathered[exchange] = given.next();
        }
        let offset = given.next();
        let sends = self.exchanges.iter();
        let sends = sends.map(|exchange| exchange.tensor(&self.programs[exchange.compute].space, None));
        let sends = sends.collect::<Result<Vec<_>, _>>()?;
        let mut returned = HashMap::new();
        let mut inside = Builder::at_end(block, self.function.location());
        for (compute, needs) in needs.iter().enumerate() {
            let Some(needs) = needs else { continue };
            let program = &self.programs[compute];
            inside.set_location(program.space.location());
            let made = emit(
                &inside,
                program,
                needs,
                self.exchanges,
                &Outside {
                    values: &values,
                    gathered: &gathered,
                    sends: &sends,
                    results: &self.results_of(program)?,
                    offset,
                    devices: self.axes.devices,
                },
            )?;
            let mut made = made.results().map(Value::from);
            for result in &needs.results {
                let old = program.outside[program.inputs() + result];
                values.extend(made.next().map(|new| (key(old), new)));
            }
            returned.extend(needs.sends.iter().copied().zip(made));
        }
        let returned = match round {
            Some(_) => (0..self.exchanges.len())
                .filter_map(|exchange| returned.get(&exchange).copied())
                .collect::<Vec<_>>(),
            None => {
                let results = self.body.end.operands();
                let results = results.map(|result| values.get(&key(result)).copied());
                results.collect::<Option<_>>().ok_or_else(|| {
                    let message = "a result that is an argument; supported: results of norm.compute";
                    Diagnostic::unsupported(self.body.end.location(), message)
                })?
            }
        };
        inside.set_location(self.body.end.location());
        inside.op("func.return", &returned, &[]);
        Ok(())
    }

    /// What the run needs of each compute; `None` for nothing.
    fn needs(&self, round: Option<usize>) -> Result<Vec<Option<Needs<'c>>>, PassError<'c>> {
        let mut wanted = HashSet::new();
        if round.is_none() {
            wanted.extend(self.body.end.operands().map(key));
        }
        let mut found = Vec::new();
        for (compute, program) in self.programs.iter().enumerate().rev() {
            let devices = self.axes.devices;
            let needs = Needs::of(program, compute, self.exchanges, devices, round, &wanted)?;
            let read = needs.iter().flat_map(|needs| &needs.tensors);
            wanted.extend(read.map(|buffer| key(program.outside[*buffer])));
            found.push(needs);
        }
        found.reverse();
        Ok(found)
    }

    /// The positions of the function's arguments that the run takes too.
    fn taken(&self, needs: &[Option<Needs<'c>>]) -> Result<BTreeSet<usize>, PassError<'c>> {
        let mut used = HashSet::new();
        for (program, needs) in self.programs.iter().zip(needs) {
            let Some(needs) = needs else { continue };
            used.extend(needs.tensors.iter().map(|buffer| key(program.outside[*buffer])));
            let scalars = program.space.program.operands();
            let scalars = scalars.filter(|operand| !types::is_tensor(operand.r#type()));
            let scalars = scalars.collect::<Vec<_>>();
            used.extend(needs.scalars.iter().map(|scalar| key(scalars[*scalar])));
        }
        let mut taken = BTreeSet::new();
        for argument in 0..self.tensors.arguments.len() {
            if used.contains(&key(self.body.block.argument(argument)?.into())) {
                taken.insert(argument);
            }
        }
        Ok(taken)
    }

    /// The run's arguments and results.
    fn signature(
        &self,
        needs: &[Option<Needs<'c>>],
        taken: &BTreeSet<usize>,
        round: Option<usize>,
    ) -> Result<(Vec<Tensor<'c>>, Vec<Tensor<'c>>), PassError<'c>> {
        let mut arguments = Vec::new();
        for argument in taken {
            let value = Value::from(self.body.block.argument(*argument)?);
            arguments.push(self.shard(&self.tensors.arguments[*argument], value)?);
        }
        for exchange in gathered_in(needs) {
            arguments.push(self.states(exchange, Some(self.axes.devices))?);
        }
        if needs.iter().flatten().any(|needs| needs.has_coordinate) {
            arguments.push(self.offset());
        }
        let results = match round {
            Some(round) => (0..self.exchanges.len())
                .filter(|exchange| self.exchanges[*exchange].round == round)
                .map(|exchange| self.states(exchange, None))
                .collect::<Result<_, _>>()?,
            None => {
                let is_taken = |name: &str| arguments.iter().any(|argument| argument.name == name);
                let results = self.tensors.results.iter().zip(self.body.end.operands());
                results
                    .map(|(result, value)| {
                        let mut shard = self.shard(result, value)?;
                        shard.attributes = self.filtered(shard.attributes, |name, value| {
                            let argument = norma_dialects::string(value).unwrap_or_default();
                            name != tensor::MAY_ALIAS || is_taken(argument)
                        });
                        Ok(shard)
                    })
                    .collect::<Result<_, PassError<'c>>>()?
            }
        };
        Ok((arguments, results))
    }

    /// Describes a device's shard of an argument or a result.
    fn shard(&self, whole: &Tensor<'c>, value: Value<'c, 'a>) -> Result<Tensor<'c>, PassError<'c>> {
        let axis = self.axes.of_tensor(value);
        let ty = self.axes.local(whole.ty, axis)?;
        let mut attributes = self.filtered(whole.attributes, |name, _| name != tensor::DEVICES);
        if let Some(axis) = axis {
            attributes = self.promised(attributes, ty, axis)?;
        }
        Ok(Tensor {
            name: whole.name.clone(),
            ty,
            attributes,
        })
    }

    /// Adapts the promised attributes of a tensor to a shard of type `ty`. Where the sharded extent is dynamic, its promises are about the
    /// shard already; where it is static, they are about the whole tensor and are converted.
    fn promised(
        &self,
        attributes: DictionaryAttribute<'c>,
        ty: Type<'c>,
        axis: usize,
    ) -> Result<DictionaryAttribute<'c>, PassError<'c>> {
        let context = self.context();
        let shape = types::shape(ty).unwrap_or_default();
        let mut promised = Vec::new();
        for (name, mut value) in entries(attributes) {
            let place = name.as_string_ref();
            let place = place.as_str().unwrap_or_default();
            if place == tensor::BUFFER {
                let buffer = TypeAttribute::try_from(value).map(|buffer| buffer.value()).ok();
                let buffer = buffer.filter(|buffer| types::is_memref(*buffer));
                if let Some(buffer) = buffer {
                    let layout = types::layout(buffer).filter(|_| !types::is_contiguous(buffer));
                    let memory = types::memory_space(buffer);
                    let buffer = types::memref(&shape, types::element(buffer), layout, memory);
                    value = TypeAttribute::new(buffer.ok_or(PassError::Reported)?).into();
                }
            }
            if let (Some(extent), Ok(numbers)) = (shape[axis], DenseI64ArrayAttribute::try_from(value)) {
                let mut numbers = (0..numbers.len())
                    .map(|index| numbers.element(index))
                    .collect::<Result<Vec<_>, _>>()?;
                if let Some(number) = numbers.get_mut(axis) {
                    *number = match place {
                        tensor::MULTIPLES => gcd(*number, extent),
                        tensor::MIN => extent.min(*number),
                        tensor::MAX if *number >= 0 => extent.max(*number),
                        _ => *number,
                    };
                }
                value = DenseI64ArrayAttribute::new(context, &numbers).into();
            }
            promised.push((name, value));
        }
        Ok(DictionaryAttribute::new(context, &promised))
    }

    /// Describes the tensor of an exchange: of one device's states, or, with `devices`, of those of all.
    fn states(&self, exchange: usize, devices: Option<i64>) -> Result<Tensor<'c>, PassError<'c>> {
        let exchange = &self.exchanges[exchange];
        let ty = exchange.tensor(&self.programs[exchange.compute].space, devices)?;
        Ok(self.named(&exchange.name, ty, Vec::new()))
    }

    fn offset(&self) -> Tensor<'c> {
        let context = self.context();
        let ty = Type::index(context);
        let zero = (
            Identifier::new(context, tensor::DEFAULT),
            IntegerAttribute::new(ty, 0).into(),
        );
        self.named(OFFSET, ty, vec![zero])
    }

    fn named(
        &self,
        name: &str,
        ty: Type<'c>,
        mut attributes: Vec<(Identifier<'c>, Attribute<'c>)>,
    ) -> Tensor<'c> {
        let context = self.context();
        attributes.push((
            Identifier::new(context, tensor::NAME),
            StringAttribute::new(context, name).into(),
        ));
        Tensor {
            name: name.to_owned(),
            ty,
            attributes: DictionaryAttribute::new(context, &attributes),
        }
    }

    fn filtered(
        &self,
        attributes: DictionaryAttribute<'c>,
        keeps: impl Fn(&str, Attribute<'c>) -> bool,
    ) -> DictionaryAttribute<'c> {
        let kept = entries(attributes).filter(|(name, value)| {
            let name = name.as_string_ref();
            keeps(name.as_str().unwrap_or_default(), *value)
        });
        DictionaryAttribute::new(self.context(), &kept.collect::<Vec<_>>())
    }

    /// The types of a program's results on one device.
    fn results_of(&self, program: &Program<'c, 'a>) -> Result<Vec<Type<'c>>, PassError<'c>> {
        let results = program.outside[program.inputs()..].iter();
        results
            .map(|result| {
                let ty = result.r#type();
                self.axes.local(ty, self.axes.of_tensor(*result))
            })
            .collect()
    }

    /// Adds a function whose body is empty; the caller sets its type.
    fn declare(
        &self,
        b: &Builder<'c, 'a>,
        name: &str,
        arguments: Vec<Type<'c>>,
    ) -> Result<OperationRef<'c, 'a>, PassError<'c>> {
        let context = b.context();
        let body = Region::new();
        let at = arguments.iter().map(|ty| (*ty, self.function.location()));
        body.append_block(Block::new(&at.collect::<Vec<_>>()));
        let ty = FunctionType::new(context, &arguments, &[]);
        let attributes = [
            ("sym_name", StringAttribute::new(context, name).into()),
            ("function_type", TypeAttribute::new(ty.into()).into()),
            (SHARDED, self.described()?),
        ];
        Ok(b.op_with("func.func", &[], &[], &attributes, vec![body]))
    }

    /// The attribute by which each run describes the sharded function.
    fn described(&self) -> Result<Attribute<'c>, PassError<'c>> {
        let context = self.context();
        let wide = IntegerType::new(context, 64).into();
        let number = |number: i64| Attribute::from(IntegerAttribute::new(wide, number));
        let dictionary = |entries: &[(&str, Attribute<'c>)]| {
            let entries = entries.iter();
            let named = entries.map(|(name, value)| (Identifier::new(context, name), *value));
            Attribute::from(DictionaryAttribute::new(context, &named.collect::<Vec<_>>()))
        };
        let arguments = (0..self.tensors.arguments.len()).map(|index| self.body.block.argument(index));
        let mut values = arguments
            .map(|argument| Ok(Value::from(argument?)))
            .collect::<Result<Vec<_>, PassError<'c>>>()?;
        values.extend(self.body.end.operands());
        let tensors = self.tensors.arguments.iter().chain(&self.tensors.results);
        let axes = tensors.zip(values).filter_map(|(tensor, value)| {
            let axis = self.axes.of_tensor(value)?;
            Some((tensor.name.as_str(), number(i64::try_from(axis).ok()?)))
        });
        let own = norma_dialects::symbol_name(self.function).unwrap_or_default();
        Ok(dictionary(&[
            ("function", StringAttribute::new(context, own).into()),
            ("devices", number(self.axes.devices)),
            ("axes", dictionary(&axes.collect::<Vec<_>>())),
        ]))
    }

    fn context(&self) -> &'c melior::Context {
        crate::mlir::context::of(self.function.location())
    }
}

/// The exchanges whose states a run reads, in order.
fn gathered_in(needs: &[Option<Needs<'_>>]) -> BTreeSet<usize> {
    needs
        .iter()
        .flatten()
        .flat_map(|needs| needs.gathered.iter().copied())
        .collect()
}
