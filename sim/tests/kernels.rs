//! Kernels written by hand, one for each way of moving data between threads: they run right under many schedules, and
//! all of their mutants are caught.

use norma_simulator::mutation::{self, Mutation};
use norma_simulator::program::Program;
use norma_simulator::{
    Argument, Buffer, BufferAccess, Contents, Finding, Launch, Memory, Options, TensorMap, decode, run,
};

/// A kernel and a launch of it whose result is known.
struct Case {
    source: &'static str,
    grid: u32,
    block: u32,
    cluster: u32,
    shared_bytes: u32,
    /// The buffers: the contents of each, or the number of f32 of an uninitialized one.
    buffers: Vec<Result<Vec<u8>, usize>>,
    arguments: Vec<Argument>,
    /// A buffer, and its contents in the end.
    expected: (usize, Vec<f32>),
    /// Mutations that change nothing, by line and what is done: the reason stands beside each.
    unobservable: Vec<(u32, &'static str)>,
}

const SEEDS: u64 = 24;

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn counted(count: usize) -> Vec<f32> {
    (0..count).map(|index| index as f32).collect()
}

impl Case {
    fn run(&self, program: &Program, seed: u64) -> (Vec<Finding>, Vec<u8>) {
        let mut memory = Memory::new(seed);
        for (index, contents) in self.buffers.iter().enumerate() {
            memory.add(Buffer {
                name: format!("b{index}"),
                access: match contents {
                    Ok(_) if index == 0 => BufferAccess::Input,
                    Ok(_) => BufferAccess::Workspace,
                    Err(_) => BufferAccess::Output,
                },
                contents: match contents {
                    Ok(bytes) => Contents::Bytes(bytes.clone()),
                    Err(count) => Contents::Uninitialized(count * 4),
                },
                align: 16,
                pending: false,
            });
        }
        let launch = Launch {
            kernel: program.kernels[0].name.clone(),
            grid: [self.grid, 1, 1],
            block: [self.block, 1, 1],
            cluster: [self.cluster, 1, 1],
            shared_bytes: self.shared_bytes,
            programmatic: false,
            arguments: self.arguments.clone(),
        };
        let options = Options {
            seed,
            instruction_limit: 1 << 16,
            ..Options::default()
        };
        let outcome =
            run(program, &launch, &mut memory, &options, &mut |_| {}).expect("a launch that can be");
        (outcome.findings, memory.bytes(self.expected.0).to_vec())
    }

    fn program(&self) -> Program {
        decode::parse(self.source, "kernel.mlir").expect("a kernel that decodes")
    }

    fn runs_right(&self) {
        let program = self.program();
        for seed in 0..SEEDS {
            let (findings, bytes) = self.run(&program, seed);
            let text: Vec<_> = findings.iter().map(ToString::to_string).collect();
            assert!(findings.is_empty(), "seed {seed}: {}", text.join("\n"));
            assert_eq!(bytes, floats(self.expected.1.iter().copied()), "seed {seed}");
        }
    }

    /// How a mutant is caught: by a finding, or by a wrong result.
    fn catches(&self, program: &Program, mutation: &Mutation) -> Option<String> {
        let mut mutant = program.clone();
        mutant.kernels[0] = mutation.apply(&program.kernels[0]);
        (0..SEEDS).find_map(|seed| {
            let (findings, bytes) = self.run(&mutant, seed);
            if let Some(finding) = findings.first() {
                return Some(format!(
                    "{}: '{}' {}",
                    finding.kind, finding.site.op, finding.message
                ));
            }
            (bytes != floats(self.expected.1.iter().copied())).then(|| "wrong result".to_owned())
        })
    }

    fn every_mutant_is_caught(&self) {
        let program = self.program();
        let mutations = mutation::mutations(&program.kernels[0], &program.sites);
        assert!(!mutations.is_empty());
        let mut wrong = Vec::new();
        for mutation in &mutations {
            let line = mutation.site.location.as_ref().map(|location| location.line);
            let is_unobservable = self.unobservable.contains(&(line.unwrap_or(0), mutation.what));
            let caught = self.catches(&program, mutation);
            let place = mutation
                .site
                .location
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            println!("{place}: {} '{}': {caught:?}", mutation.what, mutation.site.op);
            if caught.is_some() == is_unobservable {
                wrong.push(format!(
                    "{place}: {} '{}': {caught:?}",
                    mutation.what, mutation.site.op
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

fn ring() -> Case {
    Case {
        source: include_str!("kernels/ring.mlir"),
        grid: 1,
        block: 64,
        cluster: 1,
        shared_bytes: 0,
        buffers: vec![Ok(floats(counted(5 * 128))), Err(5 * 128)],
        arguments: vec![Argument::Buffer(0), Argument::Buffer(1), Argument::Scalar(5)],
        expected: (1, counted(5 * 128).iter().map(|value| 2.0 * value).collect()),
        unobservable: vec![
            // Any one thread can initialize.
            (25, "one more than the bound"),
            // The warps trade places.
            (39, "invert the branch"),
            // The producer has written nothing itself that consumers read.
            (62, "relax the arrival"),
        ],
    }
}

fn exchange() -> Case {
    let sum = (0..64).sum::<i32>() as f32;
    Case {
        source: include_str!("kernels/exchange.mlir"),
        grid: 4,
        block: 32,
        cluster: 2,
        shared_bytes: 0,
        buffers: vec![Ok(floats((0..128).map(|index| (index % 64) as f32))), Err(4)],
        arguments: vec![Argument::Buffer(0), Argument::Buffer(1)],
        expected: (1, vec![sum; 4]),
        unobservable: vec![
            // Any one thread can initialize.
            (18, "one more than the bound"),
            // By then the thread has written nothing that waiting threads read.
            (23, "relax the arrival"),
            // The variable lies at a multiple of 8.
            (60, "promise twice the alignment"),
        ],
    }
}

fn tile() -> Case {
    let map = |buffer| {
        Argument::TensorMap(TensorMap {
            buffer,
            element: norma_bundle::Element::F32,
            dims: vec![32, 20],
            strides: vec![128],
            box_dims: vec![32, 8],
            swizzle: 0,
        })
    };
    Case {
        source: include_str!("kernels/tile.mlir"),
        grid: 3,
        block: 64,
        cluster: 1,
        shared_bytes: 1024,
        buffers: vec![Ok(floats(counted(640))), Err(640)],
        arguments: vec![map(0), map(1)],
        expected: (1, counted(640).iter().map(|value| 2.0 * value).collect()),
        unobservable: vec![
            // Any one thread can initialize.
            (18, "one more than the bound"),
            // By then the thread has written nothing that waiting threads read.
            (23, "relax the arrival"),
        ],
    }
}

fn swizzle() -> Case {
    let map = TensorMap {
        buffer: 0,
        element: norma_bundle::Element::F32,
        dims: vec![32, 20],
        strides: vec![128],
        box_dims: vec![32, 8],
        swizzle: 3,
    };
    let edge = [0.0; 64];
    Case {
        source: include_str!("kernels/swizzle.mlir"),
        grid: 3,
        block: 64,
        cluster: 1,
        shared_bytes: 1024,
        buffers: vec![Ok(floats(counted(640))), Err(768)],
        arguments: vec![Argument::TensorMap(map), Argument::Buffer(1)],
        expected: (1, [&edge, &counted(640)[..], &edge].concat()),
        unobservable: vec![
            // Any one thread can initialize.
            (23, "one more than the bound"),
            // By then the thread has written nothing that waiting threads read.
            (29, "relax the arrival"),
        ],
    }
}

fn stream() -> Case {
    Case {
        source: include_str!("kernels/stream.mlir"),
        grid: 1,
        block: 64,
        cluster: 1,
        shared_bytes: 0,
        buffers: vec![Ok(floats(counted(320))), Err(320)],
        arguments: vec![Argument::Buffer(0), Argument::Buffer(1), Argument::Scalar(5)],
        expected: (
            1,
            (0..320)
                .map(|index| (index / 64 * 64 + 63 - index % 64) as f32)
                .collect(),
        ),
        unobservable: vec![],
    }
}

fn last_block() -> Case {
    Case {
        source: include_str!("kernels/last_block.mlir"),
        grid: 6,
        block: 1,
        cluster: 1,
        shared_bytes: 0,
        buffers: vec![Ok(floats(counted(6))), Err(6), Ok(vec![0; 4]), Err(1)],
        arguments: (0..4).map(Argument::Buffer).collect(),
        expected: (3, vec![15.0]),
        unobservable: vec![
            // Buffers begin at multiples of 16.
            (29, "promise twice the alignment"),
            (30, "promise twice the alignment"),
        ],
    }
}

fn handover() -> Case {
    Case {
        source: include_str!("kernels/handover.mlir"),
        grid: 1,
        block: 64,
        cluster: 1,
        shared_bytes: 0,
        buffers: vec![Ok(floats(counted(32))), Err(32)],
        arguments: vec![Argument::Buffer(0), Argument::Buffer(1)],
        expected: (1, counted(32).into_iter().rev().collect()),
        unobservable: vec![
            // The warps trade places.
            (15, "invert the branch"),
        ],
    }
}

macro_rules! cases {
    ($($name:ident),*) => {
        mod runs_right {
            $(#[test] fn $name() { super::$name().runs_right(); })*
        }
        mod every_mutant_is_caught {
            $(#[test] fn $name() { super::$name().every_mutant_is_caught(); })*
        }
    };
}

cases!(ring, exchange, tile, swizzle, stream, last_block, handover);
