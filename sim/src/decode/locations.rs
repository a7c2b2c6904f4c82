//! The place of each op in the module's own text, besides its location in the source.
//!
//! In a module that a compiler wrote, each op has the location of the source that it comes from (`loc("a.mlir":8:8)`),
//! and many ops share one. MLIR keeps that location and forgets where the op stood in the module's own text. Decoding
//! the text once more, without its locations, recovers the place: the code is the same, instruction by instruction.

use super::body::Sites;
use crate::program::{Program, Site};

/// The text without `loc(...)` and without the aliases of locations. Every line stays where it is.
pub fn without_locations(text: &str) -> String {
    let lines = text.split('\n').map(|line| match line.starts_with("#loc") {
        true => String::new(),
        false => strip(line),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A line without its locations, which end on the line they begin on.
fn strip(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = next_location(rest) {
        kept.push_str(&rest[..at]);
        rest = &rest[at + end_of_parentheses(&rest[at..])..];
    }
    kept + rest
}

/// The position of the first `loc(` that is a word of its own, outside of strings and comments.
fn next_location(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut in_string = false;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'/' if text[at..].starts_with("//") => return None,
            b'l' if text[at..].starts_with("loc(") => {
                let before = at.checked_sub(1).map(|before| bytes[before]);
                if before.is_none_or(|before| before == b' ') {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of the word and its parentheses that a text begins with; the length of the text if they are not closed.
fn end_of_parentheses(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut in_string, mut at) = (0, false, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'(' if !in_string => depth += 1,
            b')' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Adds to the sites of `program` their places in the text, which are the locations of `bare`, decoded from the text
/// without locations.
pub fn add_places(mut program: Program, bare: &Program) -> Program {
    let same_code = program.kernels.len() == bare.kernels.len()
        && program
            .kernels
            .iter()
            .zip(&bare.kernels)
            .all(|(one, other)| one.sites.len() == other.sites.len());
    if !same_code {
        return program;
    }
    let mut sites = Sites::default();
    for (kernel, bare_kernel) in program.kernels.iter_mut().zip(&bare.kernels) {
        for (site, bare_site) in kernel.sites.iter_mut().zip(&bare_kernel.sites) {
            let source = program.sites.get(*site as usize).cloned().unwrap_or_default();
            let place = bare.sites.get(*bare_site as usize);
            let place = place.and_then(|site| site.location.clone());
            let place = place.filter(|place| source.location.as_ref() != Some(place));
            *site = sites.number(match source.location {
                Some(_) => Site {
                    in_module: place,
                    ..source
                },
                None => Site {
                    location: place,
                    ..source
                },
            });
        }
    }
    program.sites = sites.list;
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_go_and_everything_else_stays() {
        let strip = |line: &str| without_locations(line);
        assert_eq!(
            strip(r#"%1 = llvm.add %0, %0 : i32 loc("a.mlir":8:8)"#),
            "%1 = llvm.add %0, %0 : i32 "
        );
        assert_eq!(
            strip(r#"llvm.func @f(%a: i32 loc("a (b).mlir":1:2), %b: i32 loc(unknown)) {"#),
            "llvm.func @f(%a: i32 , %b: i32 ) {"
        );
        assert_eq!(strip("llvm.return loc(callsite(#loc1 at #loc2))"), "llvm.return ");
        assert_eq!(strip("a\n#loc1 = loc(\"b\":1:1)\nc"), "a\n\nc");
        assert_eq!(strip(r#"asm "loc(" // loc("#), r#"asm "loc(" // loc("#);
        assert_eq!(strip("@block(%a) alloc(%b)"), "@block(%a) alloc(%b)");
    }
}
