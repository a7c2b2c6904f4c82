//! Works around miscompilations of ptxas by rewriting PTX.
//!
//! ptxas 13.0.88 fuses `max(max(a, -b), c)` into one `VIMNMX3` and drops the negation of its middle operand, for signed
//! integers and for minima too, on sm_90 and sm_100 at every level of optimisation but 0. On an H200 the maximum of -63, ...,
//! 0 then came out as 63. LLVM emits every integer negation as `neg`, so that instruction is replaced: `not` and an addition
//! of 1 give the same number, and ptxas keeps both. Floats are negated by other instructions.

use std::fmt::Write as _;

/// Replaces integer negations of 16 and 32 bits by equivalent instructions.
pub fn avoid(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        match negation(line) {
            Some((bits, to, from)) => {
                // Writing to a string does not fail.
                let _ = writeln!(text, "\tnot.b{bits} \t{to}, {from};");
                let _ = writeln!(text, "\tadd.s{bits} \t{to}, {to}, 1;");
            }
            None => text.push_str(line),
        }
    }
    text
}

/// The width, the result and the operand of a line that negates an integer.
fn negation(line: &str) -> Option<(&str, &str, &str)> {
    let (bits, operands) = line
        .trim()
        .strip_prefix("neg.s")?
        .split_once(char::is_whitespace)?;
    if !matches!(bits, "16" | "32") {
        return None;
    }
    let (to, from) = operands.trim().strip_suffix(';')?.split_once(", ")?;
    Some((bits, to, from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negations_become_complements_plus_one() {
        let ptx = "\tneg.s32 \t%r13, %r10;\n\tneg.s16 \t%rs2, %rs1;\n";
        let expected = "\tnot.b32 \t%r13, %r10;\n\tadd.s32 \t%r13, %r13, 1;\n\
                        \tnot.b16 \t%rs2, %rs1;\n\tadd.s16 \t%rs2, %rs2, 1;\n";
        assert_eq!(avoid(ptx), expected);
    }

    #[test]
    fn all_else_stays() {
        let ptx = "\tneg.f32 \t%r1, %r2;\n\tneg.s64 \t%rd1, %rd2;\n\tsub.s32 \t%r1, 32, %r2; // neg.s32\n}";
        assert_eq!(avoid(ptx), ptx);
    }
}
