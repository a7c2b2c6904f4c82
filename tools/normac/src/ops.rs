//! Ops by name: a subcommand for each named op, with its operands, results and attributes as options.
//!
//! Everything here is derived from the table that is generated from ODS.

use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command};
use norma_command_line::{Setting, whole_number};
use norma_compiler::named_op::{Choice, ChoiceKind, NamedOp, Tensor};
use norma_compiler::preset::{self, Extent, Preset, Promise, Wanted, parse_shape};

use crate::args::CompileArgs;

/// The heading of the op's own options in its help.
const OF_OP: &str = "The op";
/// The prefix of options that leave an operand or result out.
const WITHOUT: &str = "no-";

/// The similarity of words, by Jaro, above which one is taken for a misspelling of the other.
const SIMILAR: f64 = 0.8;

/// Selects one of the promises about a size.
type Part = fn(&mut Promise) -> &mut Option<i64>;

/// The promises that can be made about a size, by name.
pub const PROMISES: [(&str, Part); 3] = [
    ("multiple", |promise| &mut promise.multiple),
    ("min", |promise| &mut promise.min),
    ("max", |promise| &mut promise.max),
];

/// The subcommand of every named op. The ops have hundreds of options together, so an op's options are created only if it is
/// used.
pub fn commands(ops: &'static [NamedOp]) -> impl Iterator<Item = Command> {
    ops.iter().map(|op| {
        Command::new(op.mnemonic)
            .about(op.summary)
            .defer(|command| match NamedOp::find(command.get_name()) {
                Some(op) => with_options(command, op),
                None => command,
            })
    })
}

/// The output of `--list-ops`: each op and what it computes.
pub fn list(ops: &[NamedOp]) -> String {
    let width = ops.iter().map(|op| op.mnemonic.len()).max().unwrap_or(0) + 2;
    ops.iter()
        .map(|op| format!("{:width$}{}\n", op.mnemonic, op.summary))
        .collect()
}

/// The options of the subcommand of every op, besides those of every compilation.
pub const OF_ALL: [&str; 7] = ["shape", "dtype", "name", "devices", "multiple", "min", "max"];

/// The op whose name is most like `word`, if one is similar and `word` is no path. Words are compared without what differs between
/// styles: `norm.rms_norm`, `rms-norm` and `RMSNorm` are the same.
pub fn nearest(word: &str) -> Option<&'static str> {
    let word = word.strip_prefix("norm.").unwrap_or(word);
    if word.contains(['/', '.']) {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace(['_', '-'], "");
    let ops = preset::OPS.iter().map(|op| op.mnemonic);
    let similar = ops.map(|name| (strsim::jaro(&plain(word), &plain(name)), name));
    let similar = similar.filter(|(similarity, _)| *similarity > SIMILAR);
    similar
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

fn with_options(command: Command, op: &'static NamedOp) -> Command {
    // `augment_args` sets the description of the options as the command's, so the op's summary is set after it.
    let command = CompileArgs::augment_args(command)
        .about(op.summary)
        .long_about(None);
    let first = op.operands.first();
    let command = command
        .disable_version_flag(true)
        .arg(
            Arg::new("shape")
                .long("shape")
                .value_name("EXTENTS")
                .required(true)
                .value_parser(shape)
                .help_heading(OF_OP)
                .help(format!(
                    "The shape of {}, such as m,4096: numbers, and names of sizes that only the run knows",
                    first.map_or("", |first| first.name)
                )),
        )
        .args(first.map(|first| {
            Arg::new("dtype")
                .long("dtype")
                .value_name("TYPE")
                .value_parser(PossibleValuesParser::new(first.elements))
                .default_value(first.elements.first().copied().unwrap_or_default())
                .help_heading(OF_OP)
                .help(format!("The element type of {}", first.name))
        }))
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .help_heading(OF_OP)
                .help("The name of the function, the op's unless told"),
        )
        .arg(
            Arg::new("devices")
                .long("devices")
                .value_name("N")
                .value_parser(whole_number(1_i64..))
                .allow_negative_numbers(true)
                .default_value("1")
                .help_heading(OF_OP)
                .help(
                    "Compile what each of N GPUs runs that share the axis which is reduced, the last of several: \
                     NAME_partial and NAME_rest",
                ),
        )
        .args(
            [
                ("multiple", "A size is a multiple of N"),
                ("min", "A size is at least N"),
                ("max", "A size is at most N"),
            ]
            .map(|(name, help)| {
                Arg::new(name)
                    .long(name)
                    .value_name("SIZE=N")
                    .action(ArgAction::Append)
                    .value_parser(clap::value_parser!(Setting<i64>))
                    .help_heading(OF_OP)
                    .help(format!("{help}, which the kernels rely on and launchers check"))
            }),
        );
    let operands = op.operands.iter().skip(1).map(|tensor| (tensor, "operand"));
    let results = op.results.iter().map(|tensor| (tensor, "result"));
    command
        .args(op.choices.iter().map(choice))
        .args(operands.chain(results).flat_map(|(of, kind)| tensor(of, kind)))
}

/// The option's spelling of an ODS name. It is leaked, because the command line lives as long as the process.
fn long(name: &str) -> &'static str {
    name.replace('_', "-").leak()
}

/// The option for an attribute.
fn choice(choice: &'static Choice) -> Arg {
    let arg = Arg::new(choice.name)
        .long(long(choice.name))
        .alias(choice.name)
        .required(choice.is_required)
        .help_heading(OF_OP);
    let arg = match choice.default {
        "" | "false" => arg,
        default => arg.default_value(default),
    };
    let says = |what: &str| format!("The op's attribute {}, {what}", choice.name);
    match &choice.kind {
        ChoiceKind::Number => arg
            .value_name("X")
            .allow_hyphen_values(true)
            .value_parser(number)
            .help(says("a number")),
        ChoiceKind::Integer => arg
            .value_name("N")
            .allow_hyphen_values(true)
            .value_parser(integer)
            .help(says("an integer")),
        ChoiceKind::Integers => arg
            .value_name("N,...")
            .allow_hyphen_values(true)
            .value_parser(integers)
            .help(says("a list of integers")),
        ChoiceKind::Flag => arg
            .action(ArgAction::SetTrue)
            .help(format!("Set the op's attribute {}", choice.name)),
        ChoiceKind::Keyword(keywords) => arg
            .value_name("WORD")
            .value_parser(PossibleValuesParser::new(*keywords))
            .help(says("a word")),
    }
}

/// The options for an operand or result other than the first operand: its type, and whether it is present.
fn tensor(tensor: &'static Tensor, kind: &str) -> Vec<Arg> {
    let name = tensor.name;
    let presence = match (tensor.is_optional, tensor.is_usual) {
        (false, _) => "",
        (true, true) => ", which is there unless told",
        (true, false) => ", which is not there unless told",
    };
    let with = Arg::new(name)
        .long(long(name))
        .alias(name)
        .value_name("TYPE")
        .value_parser(PossibleValuesParser::new(tensor.elements))
        .help_heading(OF_OP)
        .help(format!("The {kind} {name}{presence}, of this element type"));
    if !tensor.is_optional {
        return vec![with];
    }
    let without: &'static str = format!("{WITHOUT}{name}").leak();
    let without = Arg::new(without)
        .long(long(without))
        .alias(without)
        .action(ArgAction::SetTrue)
        .conflicts_with(name)
        .help_heading(OF_OP)
        .help(format!("Leave the {kind} {name} out"));
    vec![with.num_args(0..=1).require_equals(true), without]
}

/// Builds the preset from the options of an op's subcommand.
///
/// # Errors
/// The same promise about a size is given twice.
pub fn preset(op: &'static NamedOp, matches: &ArgMatches) -> Result<Preset, String> {
    let shape = matches.get_one::<Vec<Extent>>("shape").cloned();
    let mut preset = Preset::new(op, shape.unwrap_or_default());
    let is_said = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    // The default that help shows is not said: other options may ask for another one.
    preset.dtype = matches
        .get_one::<String>("dtype")
        .filter(|_| is_said("dtype"))
        .cloned();
    if let Some(name) = matches.get_one::<String>("name") {
        preset.name.clone_from(name);
    }
    preset.devices = matches.get_one("devices").copied().unwrap_or(1);
    for choice in op.choices.iter().filter(|choice| is_said(choice.name)) {
        let said = match choice.kind {
            ChoiceKind::Flag => matches.get_flag(choice.name).to_string(),
            _ => matches
                .get_one::<String>(choice.name)
                .cloned()
                .unwrap_or_default(),
        };
        preset.choices.insert(choice.name, said);
    }
    let first = op.operands.first().map(|first| first.name);
    for tensor in op.tensors().filter(|tensor| Some(tensor.name) != first) {
        if tensor.is_optional && is_said(&format!("{WITHOUT}{}", tensor.name)) {
            preset.tensors.insert(tensor.name, Wanted::Absent);
        } else if is_said(tensor.name) {
            let element = matches.get_one::<String>(tensor.name).cloned();
            preset.tensors.insert(tensor.name, Wanted::Present(element));
        }
    }
    for (name, promise_of) in PROMISES {
        for setting in matches.get_many::<Setting<i64>>(name).into_iter().flatten() {
            let promise = preset.promises.entry(setting.name.clone()).or_default();
            if promise_of(promise).replace(setting.value).is_some() {
                return Err(format!("--{name} {}=... is given twice", setting.name));
            }
        }
    }
    Ok(preset)
}

fn shape(text: &str) -> Result<Vec<Extent>, String> {
    parse_shape(text)
}

/// Checks a number and keeps its spelling.
fn number(text: &str) -> Result<String, String> {
    preset::parse_number(text).map(|_| text.to_owned())
}

/// Checks an integer and keeps its spelling.
fn integer(text: &str) -> Result<String, String> {
    whole_number::<i64>(..)(text).map(|_| text.to_owned())
}

/// Checks integers and keeps their spelling.
fn integers(text: &str) -> Result<String, String> {
    let mut words = text.split(',').map(str::trim);
    match words.all(|word| word.parse::<i64>().is_ok()) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "expected whole numbers with commas between them, got '{text}'"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_op_is_that_of_a_misspelt_name() {
        assert_eq!(nearest("rmsnorm"), Some("rms_norm"));
        assert_eq!(nearest("crossentropy"), Some("cross_entropy"));
        assert_eq!(nearest("layernorm_grad"), Some("layer_norm_grad"));
        assert_eq!(nearest("norm.softmax"), Some("softmax"));
        assert_eq!(nearest("CrossEntropy"), Some("cross_entropy"));
        for other in ["input", "rms_norm.mlir", "./rmsnorm", "-"] {
            assert_eq!(nearest(other), None);
        }
    }
}
