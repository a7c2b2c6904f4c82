//! The provenance that a bundle records.

use norma_compiler::compile::Input;
use norma_compiler::provenance::of;
use norma_compiler::{CompileOptions, FpContract, Level, Target};

#[test]
fn what_decides_the_kernels_is_in_it_and_nothing_else() {
    let options = |target| CompileOptions::new(Target::parse(target).unwrap());
    let of = |text, options: &CompileOptions| of(Input { name: "input", text }, options).unwrap();
    let plain = options("sm_90a");
    let first = of("one", &plain);
    let explained = CompileOptions {
        explain: true,
        ..plain.clone()
    };
    assert_eq!(first, of("one", &explained));
    assert_ne!(first, of("two", &plain));
    let set = |change: fn(&mut CompileOptions)| {
        let mut options = plain.clone();
        change(&mut options);
        options
    };
    for other in [
        options("sm_80"),
        set(|options| options.by_size = true),
        set(|options| options.batch_invariant = true),
        set(|options| options.fp_contract = FpContract::On),
        set(|options| options.keep_nvvm = true),
        set(|options| options.keep_ptx = true),
        set(|options| options.line_info = true),
        set(|options| options.from = Level::Kernel),
        set(|options| options.schedules = vec!["#norm.schedule<spread = [[grid]]>".to_owned()]),
    ] {
        assert_ne!(first, of("one", &other), "{other:?}");
    }
}
