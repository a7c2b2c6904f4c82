//! Checks that every mention of the folder of NVIDIA's files names the right release.

use super::{Finding, Tree, pattern};
use crate::setup::CUDA_RELEASE;

/// Every mention of `.toolchain/cuda-<release>` names the release that set-up installs.
pub fn every_mention_is_of_the_pinned_release(tree: &Tree) -> Vec<Finding> {
    let mention = pattern(r"\.toolchain/cuda-(\d+\.\d+\.\d+)");
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        let releases = mention.captures_iter(text).filter_map(|capture| capture.get(1));
        findings.extend(
            releases
                .filter(|release| release.as_str() != CUDA_RELEASE)
                .map(|release| {
                    let text_of_it = format!("set-up installs {CUDA_RELEASE}, not {}", release.as_str());
                    Finding::at(path, text, release.start(), text_of_it)
                }),
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_of_another_release_is_found() {
        let folder = |release: &str| [".toolchain/cuda-", release, "/bin"].concat();
        let (good, bad) = (folder(CUDA_RELEASE), folder("12.9.86"));
        let tree = Tree::of(&[("compiler/build.rs", &good), ("README.md", &bad)]);
        let findings = every_mention_is_of_the_pinned_release(&tree);
        assert_eq!(
            findings
                .iter()
                .map(|finding| finding.path.as_str())
                .collect::<Vec<_>>(),
            ["README.md"]
        );
    }
}
