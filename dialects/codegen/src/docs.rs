//! ODS summaries and descriptions as rustdoc.

use proc_macro2::TokenStream;
use quote::quote;

/// The doc attributes of an item: its summary as a sentence, then its description.
///
/// `fallback` stands in for an empty summary, since every public item has a doc comment.
pub fn attribute(summary: &str, description: &str, fallback: &str) -> TokenStream {
    let summary = if summary.trim().is_empty() {
        fallback
    } else {
        summary
    };
    let mut text = format!(" {}", sentence(summary));
    let description = markdown(description);
    if !description.is_empty() {
        text.push_str("\n\n");
        text.push_str(&description);
    }
    quote! { #[doc = #text] }
}

/// A summary on one line, with a capital at the start and a full stop at the end.
fn sentence(summary: &str) -> String {
    let mut text = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(first) = text.get(..1) {
        let upper = first.to_ascii_uppercase();
        text.replace_range(..1, &upper);
    }
    if !text.ends_with('.') {
        text.push('.');
    }
    text
}

/// A description without the indentation ODS gives it. Code without a language, fenced or indented, is marked as text,
/// or rustdoc would compile it.
fn markdown(description: &str) -> String {
    let lines: Vec<&str> = description.lines().collect();
    let indent = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let mut out: Vec<String> = Vec::new();
    let (mut fenced, mut indented) = (false, false);
    for line in lines {
        let line = line.get(indent..).unwrap_or("").trim_end();
        let fence = line.trim_start().starts_with("```");
        if indented && !line.is_empty() && !line.starts_with("    ") {
            out.push(" ```".to_owned());
            indented = false;
        }
        let after_blank = out.last().is_none_or(|line| line.trim().is_empty());
        if !fenced && !indented && after_blank && line.starts_with("    ") {
            out.push(" ```text".to_owned());
            indented = true;
        }
        if fence && !fenced && line.trim() == "```" {
            out.push(format!(" {line}text"));
        } else {
            out.push(format!(" {line}"));
        }
        fenced ^= fence;
    }
    if indented {
        out.push(" ```".to_owned());
    }
    out.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_becomes_a_sentence() {
        assert_eq!(sentence("reads an\n  element"), "Reads an element.");
    }

    #[test]
    fn descriptions_lose_their_common_indentation() {
        assert_eq!(markdown("\n    One.\n\n      two\n  "), "One.\n \n   two");
    }

    #[test]
    fn indented_code_is_not_a_doctest() {
        assert_eq!(
            markdown("a\n\n    x = 1\nb"),
            "a\n \n ```text\n     x = 1\n ```\n b"
        );
    }

    #[test]
    fn unlabelled_code_is_not_a_doctest() {
        assert_eq!(markdown("```\nx\n```"), "```text\n x\n ```");
    }
}
