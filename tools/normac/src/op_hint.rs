//! Messages for command lines that mean an op, where the parser's own messages would speak of something else: the op is misspelt or behind
//! options, so that it was taken for a file, or the type of an operand has no equals sign before it.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use norma_compiler::named_op::NamedOp;

use crate::ops;

/// What a refused command line should have been. `arguments` are those behind the program's name.
pub fn hint(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let first = *words.first()?;
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if let Some(op) = NamedOp::find(first) {
        return type_of(op, option, &words);
    }
    if let Some(op) = words.iter().find(|word| is_op(word) && !Path::new(word).exists()) {
        return Some(format!(
            "expected the op before all options, as in 'normac {op} --shape ...', got '{first}' before it"
        ));
    }
    let is_path = Path::new(first).exists() || first.contains('/') || first.ends_with(".mlir");
    let is_word = !first.starts_with('-') && !is_path;
    let of_ops = option
        .strip_prefix("--")
        .is_some_and(|option| ops::OF_ALL.contains(&option));
    if is_word && let Some(op) = ops::nearest(first) {
        return Some(format!(
            "expected an op or a file, got '{first}'; there is an op '{op}'"
        ));
    }
    match (of_ops, is_word) {
        (false, _) => None,
        (true, true) => Some(format!(
            "expected an op or a file, got '{first}'; normac --list-ops lists the ops"
        )),
        (true, false) => Some(format!(
            "'{option}' is an option of ops by name, as in 'normac rms_norm {option} ...'; a file says this of its functions itself"
        )),
    }
}

fn is_op(word: &str) -> bool {
    NamedOp::find(word).is_some()
}

/// What a word should have been that follows the option of an operand or result which may be left out, and so takes its type behind an
/// equals sign only.
fn type_of(op: &NamedOp, word: &str, words: &[&str]) -> Option<String> {
    let at = words.iter().position(|other| *other == word)?;
    let option = words.get(at.checked_sub(1)?)?;
    let name = option.strip_prefix("--")?.replace('-', "_");
    let tensor = op.tensors().find(|tensor| tensor.name == name)?;
    tensor
        .is_optional
        .then(|| format!("expected '{option}={word}', got '{option} {word}'"))
}

#[cfg(test)]
mod tests {
    use super::hint;
    use crate::command::command;

    fn hint_of(words: &[&str]) -> Option<String> {
        let error = command()
            .try_get_matches_from([&["normac"], words].concat())
            .err()?;
        let words: Vec<_> = words.iter().map(Into::into).collect();
        hint(&error, &words)
    }

    #[test]
    fn a_misspelt_op_is_named() {
        for (word, op) in [
            ("rms-norm", "rms_norm"),
            ("RMSNorm", "rms_norm"),
            ("norm.rms_norm", "rms_norm"),
            ("softmx", "softmax"),
            ("LayerNorm", "layer_norm"),
        ] {
            assert_eq!(
                hint_of(&[word, "--shape", "m,8"]),
                Some(format!(
                    "expected an op or a file, got '{word}'; there is an op '{op}'"
                ))
            );
        }
        assert_eq!(
            hint_of(&["frobnicate", "--shape", "m,8"]).as_deref(),
            Some("expected an op or a file, got 'frobnicate'; normac --list-ops lists the ops")
        );
    }

    #[test]
    fn an_op_behind_options_is_told_its_place() {
        assert_eq!(
            hint_of(&["--target", "sm_90a", "rms_norm", "--shape", "m,8"]).as_deref(),
            Some(
                "expected the op before all options, as in 'normac rms_norm --shape ...', got '--target' before it"
            )
        );
    }

    #[test]
    fn a_type_without_an_equals_sign_is_told_to_have_one() {
        assert_eq!(
            hint_of(&["rms_norm", "--shape", "m,8", "--weight", "f32"]).as_deref(),
            Some("expected '--weight=f32', got '--weight f32'")
        );
    }

    #[test]
    fn options_of_ops_are_not_of_files() {
        assert_eq!(
            hint_of(&["a.mlir", "--dtype", "f16"]).as_deref(),
            Some(
                "'--dtype' is an option of ops by name, as in 'normac rms_norm --dtype ...'; a file says this of its functions itself"
            )
        );
        assert_eq!(hint_of(&["a.mlir", "--no-such-flag"]), None);
        assert_eq!(hint_of(&["rms_norm", "--shape", "m,8", "--no-such-flag"]), None);
    }
}
