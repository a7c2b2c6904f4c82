//! Kernels around a body: the parameters, constants and shared memory that bodies share, and a launch under many seeds.

use norma_simulator::mutation::{self, Concern};
use norma_simulator::program::Program;
use norma_simulator::{
    Argument, Buffer, BufferAccess, Contents, Finding, FindingKind, Launch, Memory, Options, decode, run,
};

/// Relaxing the arrival of a thread that issues a copy, and does nothing else that others wait for, changes nothing:
/// the copy's completion orders enough.
pub const BRINGS_A_COPY: (&str, &str) = ("nvvm.mbarrier.arrive.expect_tx", "relax the arrival");

/// The number of seeds that a right body runs under, and within which a broken one must be found.
pub const SEEDS: u64 = 24;

/// A body and its launch. The body may use
/// - `%x` (an input of 1024 f32: 0, 1, 2, ...), `%y` (an output of 1024 f32), `%w` (a workspace of 64 zeroed i32);
/// - `%tid`, `%lane`, `%warp`, `%cta`, `%rank`, `%first` (whether the thread is the first of its CTA);
/// - `%a` and `%b` (1024 f32 of shared memory each, aligned to 128), `%bar` and `%bar1` (mbarriers);
/// - `%c0`, `%c1`, ... (i32), `%all` (every lane), `%one` (1.0);
/// - `%xi`, `%yi` and `%ai`: the thread's own element, by its index in the CTA.
#[derive(Clone)]
pub struct Kernel {
    body: String,
    threads: u32,
    ctas: u32,
    cluster: u32,
    programmatic: bool,
    attributes: &'static str,
}

impl Kernel {
    /// With one CTA of 64 threads.
    pub fn of(body: &str) -> Self {
        Self {
            body: body.to_owned(),
            threads: 64,
            ctas: 1,
            cluster: 1,
            programmatic: false,
            attributes: "",
        }
    }

    pub fn threads(self, threads: u32) -> Self {
        Self { threads, ..self }
    }

    /// CTAs of the grid, each a cluster by itself.
    pub fn ctas(self, ctas: u32) -> Self {
        Self { ctas, ..self }
    }

    /// One cluster of that many CTAs.
    pub fn cluster(self, ctas: u32) -> Self {
        Self {
            ctas,
            cluster: ctas,
            ..self
        }
    }

    /// Makes it a programmatic dependent launch, where the kernel ahead writes `%x`.
    pub fn programmatic(self) -> Self {
        Self {
            programmatic: true,
            ..self
        }
    }

    /// With more attributes of the function.
    pub fn attributes(self, attributes: &'static str) -> Self {
        Self { attributes, ..self }
    }

    /// Replaces a text that the body must contain.
    #[track_caller]
    pub fn with(self, old: &str, new: &str) -> Self {
        assert!(self.body.contains(old), "no {old}");
        Self {
            body: self.body.replace(old, new),
            ..self
        }
    }

    fn source(&self) -> String {
        let constants: String = [0, 1, 2, 3, 4, 8, 16, 31, 32, 63, 64, 96, 128, 256]
            .map(|value| format!("    %c{value} = llvm.mlir.constant({value} : i32) : i32\n"))
            .concat();
        format!(
            "gpu.module @m {{
  llvm.mlir.global internal @a() {{addr_space = 3 : i32, alignment = 128 : i64}} : !llvm.array<1024 x f32>
  llvm.mlir.global internal @b() {{addr_space = 3 : i32, alignment = 128 : i64}} : !llvm.array<1024 x f32>
  llvm.mlir.global internal @bars() {{addr_space = 3 : i32, alignment = 8 : i64}} : !llvm.array<2 x i64>
  llvm.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %w: !llvm.ptr<1>)
      attributes {{gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: {threads}, 1, 1>{attributes}}} {{
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %cta = nvvm.read.ptx.sreg.ctaid.x : i32
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
{constants}    %c5 = llvm.mlir.constant(5 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %one = llvm.mlir.constant(1.0 : f32) : f32
    %lane = llvm.and %tid, %c31 : i32
    %warp = llvm.lshr %tid, %c5 : i32
    %first = llvm.icmp \"eq\" %tid, %c0 : i32
    %a = llvm.mlir.addressof @a : !llvm.ptr<3>
    %b = llvm.mlir.addressof @b : !llvm.ptr<3>
    %bar = llvm.mlir.addressof @bars : !llvm.ptr<3>
    %bar1 = llvm.getelementptr %bar[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %xi = llvm.getelementptr %x[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %yi = llvm.getelementptr %y[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ai = llvm.getelementptr %a[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    {body}
    llvm.return
  }}
}}",
            threads = self.threads,
            attributes = self.attributes,
            body = self.body,
        )
    }

    fn program(&self) -> Program {
        decode::parse(&self.source(), "kernel.mlir").expect("a kernel that decodes")
    }

    /// Runs it under a seed; returns the findings, and the contents of `%y`.
    fn run(&self, program: &Program, seed: u64) -> (Vec<Finding>, Vec<f32>) {
        let mut memory = Memory::new(seed);
        let input = (0..1024).flat_map(|index| (index as f32).to_le_bytes()).collect();
        for (name, access, contents) in [
            ("x", BufferAccess::Input, Contents::Bytes(input)),
            ("y", BufferAccess::Output, Contents::Uninitialized(4096)),
            ("w", BufferAccess::Workspace, Contents::Bytes(vec![0; 256])),
        ] {
            memory.add(Buffer {
                name: name.to_owned(),
                access,
                contents,
                align: 16,
                pending: self.programmatic && name == "x",
            });
        }
        let launch = Launch {
            kernel: "k".to_owned(),
            grid: [self.ctas, 1, 1],
            block: [self.threads, 1, 1],
            cluster: [self.cluster, 1, 1],
            shared_bytes: 0,
            programmatic: self.programmatic,
            arguments: (0..3).map(Argument::Buffer).collect(),
        };
        let options = Options {
            seed,
            instruction_limit: 1 << 18,
            ..Options::default()
        };
        let outcome =
            run(program, &launch, &mut memory, &options, &mut |_| {}).expect("a launch that can be");
        let output = memory.bytes(1).chunks_exact(4);
        let output = output.map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        (outcome.findings, output.collect())
    }

    /// Asserts that no seed finds anything and that `%y` begins with `expected`, and that each mutant of its
    /// synchronization is caught by a finding or another result. `unobservable` lists those that change nothing, by op
    /// and what is done to it; the caller gives the reason.
    #[track_caller]
    pub fn gives(&self, expected: &[f32], unobservable: &[(&str, &str)]) {
        let program = self.program();
        for seed in 0..SEEDS {
            let (findings, output) = self.run(&program, seed);
            let text: Vec<_> = findings.iter().map(ToString::to_string).collect();
            assert!(findings.is_empty(), "seed {seed}: {}", text.join("\n"));
            assert_eq!(output[..expected.len()], *expected, "seed {seed}");
        }
        let mut mutations = mutation::mutations(&program.kernels[0], &program.sites);
        mutations.retain(|mutation| mutation.concern == Concern::Synchronization);
        for mutation in mutations {
            let mut mutant = program.clone();
            mutant.kernels[0] = mutation.apply(&program.kernels[0]);
            let is_caught = (0..SEEDS).any(|seed| {
                let (findings, output) = self.run(&mutant, seed);
                !findings.is_empty() || output[..expected.len()] != *expected
            });
            let (op, what) = (mutation.site.op.as_str(), mutation.what);
            assert_eq!(
                is_caught,
                !unobservable.contains(&(op, what)),
                "whether it is caught: {what} '{op}' at {:?} of{}",
                mutation.site.location,
                self.source()
            );
        }
    }

    /// The number of different results under all seeds, none of which may find anything.
    #[track_caller]
    pub fn results(&self) -> usize {
        let program = self.program();
        let results: std::collections::HashSet<Vec<u32>> = (0..SEEDS)
            .map(|seed| {
                let (findings, output) = self.run(&program, seed);
                assert_eq!(findings, []);
                output.iter().map(|value| value.to_bits()).collect()
            })
            .collect();
        results.len()
    }

    /// The notes of all findings of a kind, under all seeds.
    #[track_caller]
    pub fn notes(&self, kind: FindingKind) -> Vec<String> {
        let program = self.program();
        let found = (0..SEEDS).flat_map(|seed| self.run(&program, seed).0);
        let found = found.filter(|finding| finding.kind == kind);
        found
            .flat_map(|finding| finding.notes)
            .map(|note| note.message)
            .collect()
    }

    /// Asserts that some seed finds this kind at this op, and that all other findings are of this kind or of those in
    /// `besides`.
    #[track_caller]
    pub fn is_found(&self, kind: FindingKind, op: &str, besides: &[FindingKind]) {
        assert!(self.seeds_that_find(kind, op, besides) > 0);
    }

    /// Asserts that every seed finds this kind at this op, and that all other findings are of this kind or of those in
    /// `besides`.
    #[track_caller]
    pub fn is_found_in_every_seed(&self, kind: FindingKind, op: &str, besides: &[FindingKind]) {
        assert_eq!(self.seeds_that_find(kind, op, besides), SEEDS);
    }

    #[track_caller]
    fn seeds_that_find(&self, kind: FindingKind, op: &str, besides: &[FindingKind]) -> u64 {
        let program = self.program();
        let mut seeds = 0;
        for seed in 0..SEEDS {
            let (found, _) = self.run(&program, seed);
            for finding in &found {
                let is_known = finding.kind == kind || besides.contains(&finding.kind);
                assert!(is_known, "seed {seed}: {finding}");
            }
            let is_it = |finding: &&Finding| finding.kind == kind && finding.site.op == op;
            match found.iter().find(is_it) {
                Some(_) => seeds += 1,
                None => println!("seed {seed} finds {found:?}"),
            }
        }
        seeds
    }
}
