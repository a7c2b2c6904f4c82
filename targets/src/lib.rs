//! The one table of targets: what each `sm_` can do and how large it is.
//!
//! Limits per compute capability are from the CUDA C++ Programming Guide 13.0, "Technical Specifications per
//! Compute Capability" and "Shared Memory"; which instruction needs which `sm_` is from the PTX ISA 9.0;
//! sizes of parts are from NVIDIA's data sheets (A100 80GB SXM, L40S, H200 SXM, H100 SXM, B200, B300, RTX
//! 5090). Schedule selection may use a part's figures to compare candidates; correctness never depends on
//! them.

use std::borrow::Cow;
use std::fmt;

/// An instruction family that some targets lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feature {
    /// `cp.async`, 4 to 16 bytes a thread.
    CpAsync,
    /// `mbarrier` objects and their plain arrive and test.
    Mbarrier,
    /// `redux.sync` on integers.
    ReduxInteger,
    /// Conversions to and from 8-bit floats.
    ConvertF8,
    /// `mbarrier` transaction counts and `try_wait`, and the fences that go with them.
    MbarrierTransactions,
    /// `cp.async.bulk` in one dimension.
    BulkCopy,
    /// `cp.async.bulk.tensor` and tensor maps.
    Tma,
    /// Clusters of CTAs and distributed shared memory.
    Clusters,
    /// `elect.sync`.
    ElectSync,
    /// `griddepcontrol`, programmatic dependent launch.
    DependentLaunch,
    /// `setmaxnreg`.
    SetMaxRegisters,
    /// `fma.rn.f32x2` and its kin.
    PackedF32,
    /// 256-bit global loads and stores.
    WideAccess,
    /// `redux.sync` on f32.
    ReduxF32,
    /// Conversions to 4- and 6-bit floats and to 8-bit scales.
    ConvertF4,
}

impl fmt::Display for Feature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::CpAsync => "cp.async",
            Self::Mbarrier => "mbarrier",
            Self::ReduxInteger => "redux.sync on integers",
            Self::ConvertF8 => "8-bit float conversions",
            Self::MbarrierTransactions => "mbarrier transactions",
            Self::BulkCopy => "bulk copies",
            Self::Tma => "tensor copies",
            Self::Clusters => "clusters",
            Self::ElectSync => "elect.sync",
            Self::DependentLaunch => "programmatic dependent launch",
            Self::SetMaxRegisters => "setmaxnreg",
            Self::PackedF32 => "packed f32 arithmetic",
            Self::WideAccess => "256-bit loads and stores",
            Self::ReduxF32 => "redux.sync on f32",
            Self::ConvertF4 => "4- and 6-bit float and 8-bit scale conversions",
        })
    }
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The name, as in `--target`: that of the architecture, and behind a hyphen that of a part whose memory wants other schedules than
    /// the typical part's.
    pub name: &'static str,
    /// The PTX ISA that is generated, as LLVM's feature string: the oldest that has all this target's
    /// features.
    pub ptx_feature: &'static str,
    /// The CUDA release, major and minor, whose ptxas first reads that PTX ISA, by the PTX ISA's release
    /// notes.
    pub cuda_release: (u32, u32),
    /// Registers of 32 bits of an SM.
    pub registers_per_sm: u32,
    /// The most registers of one thread.
    pub registers_per_thread: u32,
    /// The most resident threads of an SM.
    pub threads_per_sm: u32,
    /// The most resident CTAs of an SM.
    pub ctas_per_sm: u32,
    /// The most shared memory of one CTA, in bytes, after opting in.
    pub shared_per_cta: u32,
    /// Shared memory of an SM, in bytes, at the largest carve-out; each resident CTA takes [`SHARED_OF_CTA`] of it besides its
    /// own.
    pub shared_per_sm: u32,
    /// L1 cache and shared memory of an SM together, in bytes.
    pub l1_and_shared: u32,
    /// The most CTAs of a portable cluster; 1 where there are none.
    pub cluster_size: u32,
    /// The most CTAs of a cluster when the kernel opts in to a non-portable size.
    pub cluster_size_non_portable: u32,
    /// The part, for an architecture's own name the typical one.
    pub part: Part,
    features: &'static [&'static [Feature]],
}

/// The part that the figures of schedule selection and of `--explain` stand for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Its SMs.
    pub sms: u32,
    /// Its L2 cache, in bytes.
    pub l2_bytes: u64,
    /// The bandwidth of its memory by the data sheet, in bytes a second.
    pub bandwidth: f64,
    /// The part of that bandwidth that a large copy reaches: 4300 of 4800 GB/s measured on an H200, 3000 of
    /// 3350 on an H100, and the H200's share assumed for the others.
    pub copy_efficiency: f64,
}

/// Threads of a warp, on every target.
pub const WARP_SIZE: i64 = 32;
/// The largest extents of a grid along x, y and z, on every target.
pub const LARGEST_GRID: [u32; 3] = [(1 << 31) - 1, 65535, 65535];
/// The most threads of a CTA, on every target.
pub const THREADS_PER_CTA: i64 = 1024;
/// Shared memory that each resident CTA takes besides its own, in bytes, on every target.
pub const SHARED_OF_CTA: u32 = KIB;
/// The granularity at which shared memory is allocated to a CTA, in bytes, on every target.
pub const SHARED_UNIT: u64 = 128;
/// The granularity at which registers are allocated to each thread of a warp, on every target.
pub const REGISTER_UNIT: u64 = 8;
/// Bytes of a register, on every target.
pub const REGISTER_BYTES: i64 = 4;
/// Warps of a warpgroup, all of which execute `setmaxnreg` (PTX ISA, `setmaxnreg`).
pub const WARPGROUP_WARPS: i64 = 4;
/// The numbers of registers of a thread that `setmaxnreg` takes are multiples of so many (PTX ISA, `setmaxnreg`).
pub const SET_REGISTERS_UNIT: i64 = 8;
/// The fewest registers of a thread that `setmaxnreg` takes (ibid.).
pub const FEWEST_SET_REGISTERS: i64 = 24;
/// The most registers of a thread for which `setmaxnreg` is used. It takes up to 256 (ibid.), but a thread can name no more than
/// [`Target::registers_per_thread`]. The verifiers of the dialects state the same bounds (`warp_specialize_c2`, `schedule_c8`).
pub const MOST_SET_REGISTERS: i64 = 240;
/// Barriers of a CTA, on every target, of which number 0 is the one of all threads (PTX ISA, `barrier`).
pub const CTA_BARRIERS: i64 = 16;
/// The most shared memory that a kernel may declare statically, in bytes, on every target; more is allocated at launch (CUDA C++
/// Programming Guide, "Shared Memory" of each compute capability).
pub const STATIC_SHARED_BYTES: i64 = 48 * KIB as i64;
/// Bytes of the widest access of one thread that every target has; see [`Feature::WideAccess`] for more.
pub const ACCESS_BYTES: i64 = 16;
/// The sizes of copies by `cp.async`, in bytes, largest first (PTX ISA, `cp.async`).
pub const CP_ASYNC_BYTES: [i64; 3] = [16, 8, 4];
/// The size and the alignment of an mbarrier, in bytes (PTX ISA, "Size and alignment of the mbarrier object").
pub const MBARRIER_BYTES: i64 = 8;
/// The addresses, strides and lengths of copies by the copy engine are multiples of so many bytes (PTX ISA, `cp.async.bulk`; CUDA
/// driver API, `cuTensorMapEncodeTiled`).
pub const COPY_ENGINE_GRANULE: i64 = 16;
/// The alignment of boxes in shared memory, in bytes (PTX ISA, `cp.async.bulk.tensor`).
pub const BOX_ALIGNMENT: i64 = 128;
/// The longest extent of a box of a tensor map, in elements (CUDA driver API, `cuTensorMapEncodeTiled`).
pub const LONGEST_OF_BOX: i64 = 256;
/// The most elements along an axis of a tensor map: the coordinate of a box is a signed 32-bit integer (PTX ISA,
/// `cp.async.bulk.tensor`).
pub const LONGEST_OF_TENSOR_MAP: i64 = i32::MAX as i64;
/// The spans in bytes within which a tensor map swizzles chunks of 16 bytes, as `CUtensorMapSwizzle` numbers them, from 1
/// (`CU_TENSOR_MAP_SWIZZLE_32B` and so on; 0 is none).
pub const SWIZZLE_SPANS: [i64; 3] = [32, 64, 128];
/// A swizzle repeats after so many of its spans, so that memory which begins at a multiple of them is swizzled alike wherever it lies (PTX
/// ISA, "Tensors: Swizzling Modes").
pub const SWIZZLE_REPEATS: i64 = 8;

const KIB: u32 = 1024;
const MIB: u64 = 1024 * 1024;
const H200_COPY_EFFICIENCY: f64 = 4300.0 / 4800.0;
const H100_COPY_EFFICIENCY: f64 = 3000.0 / 3350.0;

const AMPERE: &[Feature] = &[Feature::CpAsync, Feature::Mbarrier, Feature::ReduxInteger];
const ADA: &[Feature] = &[Feature::ConvertF8];
const HOPPER: &[Feature] = &[
    Feature::MbarrierTransactions,
    Feature::BulkCopy,
    Feature::Tma,
    Feature::Clusters,
    Feature::ElectSync,
    Feature::DependentLaunch,
    Feature::SetMaxRegisters,
];
const BLACKWELL: &[Feature] = &[Feature::PackedF32, Feature::WideAccess, Feature::ConvertF4];
const BLACKWELL_DATACENTRE: &[Feature] = &[Feature::ReduxF32];

/// What all supported compute capabilities share.
const COMMON: Target = Target {
    name: "",
    ptx_feature: "",
    cuda_release: (0, 0),
    registers_per_sm: 65536,
    registers_per_thread: 255,
    threads_per_sm: 2048,
    ctas_per_sm: 32,
    shared_per_cta: 227 * KIB,
    shared_per_sm: 228 * KIB,
    l1_and_shared: 256 * KIB,
    cluster_size: 8,
    cluster_size_non_portable: 16,
    part: Part {
        name: "",
        sms: 0,
        l2_bytes: 0,
        bandwidth: 0.0,
        copy_efficiency: H200_COPY_EFFICIENCY,
    },
    features: &[],
};

/// Hopper, the default target.
pub const SM_90A: Target = Target {
    name: "sm_90a",
    // 8.6 is the first with bulk copies to `.shared::cta`.
    ptx_feature: "+ptx86",
    cuda_release: (12, 7),
    part: Part {
        name: "H200 SXM",
        sms: 132,
        l2_bytes: 50 * MIB,
        bandwidth: 4.8e12,
        ..COMMON.part
    },
    features: &[AMPERE, ADA, HOPPER],
    ..COMMON
};

/// Every supported target, oldest first.
pub const TARGETS: &[Target] = &[
    Target {
        name: "sm_80",
        ptx_feature: "+ptx80",
        cuda_release: (12, 0),
        shared_per_cta: 163 * KIB,
        shared_per_sm: 164 * KIB,
        l1_and_shared: 192 * KIB,
        cluster_size: 1,
        cluster_size_non_portable: 1,
        part: Part {
            name: "A100 80GB SXM",
            sms: 108,
            l2_bytes: 40 * MIB,
            bandwidth: 2.039e12,
            ..COMMON.part
        },
        features: &[AMPERE],
        ..COMMON
    },
    Target {
        name: "sm_89",
        ptx_feature: "+ptx81",
        cuda_release: (12, 1),
        threads_per_sm: 1536,
        ctas_per_sm: 24,
        shared_per_cta: 99 * KIB,
        shared_per_sm: 100 * KIB,
        l1_and_shared: 128 * KIB,
        cluster_size: 1,
        cluster_size_non_portable: 1,
        part: Part {
            name: "L40S",
            sms: 142,
            l2_bytes: 96 * MIB,
            bandwidth: 0.864e12,
            ..COMMON.part
        },
        features: &[AMPERE, ADA],
        ..COMMON
    },
    SM_90A,
    Target {
        name: "sm_90a-h100",
        part: Part {
            name: "H100 SXM",
            bandwidth: 3.35e12,
            copy_efficiency: H100_COPY_EFFICIENCY,
            ..SM_90A.part
        },
        ..SM_90A
    },
    Target {
        name: "sm_100a",
        // 8.8 is the first with 256-bit global accesses.
        ptx_feature: "+ptx88",
        cuda_release: (12, 9),
        part: Part {
            name: "B200",
            sms: 148,
            l2_bytes: 126 * MIB,
            bandwidth: 8.0e12,
            ..COMMON.part
        },
        features: &[AMPERE, ADA, HOPPER, BLACKWELL, BLACKWELL_DATACENTRE],
        ..COMMON
    },
    Target {
        name: "sm_103a",
        ptx_feature: "+ptx88",
        cuda_release: (12, 9),
        part: Part {
            name: "B300",
            sms: 148,
            l2_bytes: 126 * MIB,
            bandwidth: 8.0e12,
            ..COMMON.part
        },
        features: &[AMPERE, ADA, HOPPER, BLACKWELL, BLACKWELL_DATACENTRE],
        ..COMMON
    },
    Target {
        name: "sm_120a",
        ptx_feature: "+ptx88",
        cuda_release: (12, 9),
        threads_per_sm: 1536,
        ctas_per_sm: 24,
        shared_per_cta: 99 * KIB,
        shared_per_sm: 100 * KIB,
        l1_and_shared: 128 * KIB,
        cluster_size_non_portable: 8,
        part: Part {
            name: "RTX 5090",
            sms: 170,
            l2_bytes: 96 * MIB,
            bandwidth: 1.792e12,
            ..COMMON.part
        },
        features: &[AMPERE, ADA, HOPPER, BLACKWELL],
        ..COMMON
    },
];

/// A target's name that the table lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown target '{name}', expected one of {}", Target::names())]
pub struct UnknownTarget {
    name: String,
    meant: Option<&'static str>,
}

impl UnknownTarget {
    /// Names the target that was probably meant, if a name is nearly right.
    pub fn hint(&self) -> Option<String> {
        let meant = self.meant?;
        let name = &self.name;
        Some(match meant.strip_suffix('a') == Some(name) {
            true => format!("'{name}' lacks the architecture's own instructions; ask for '{meant}'"),
            false => format!("'{name}' is written '{meant}'"),
        })
    }
}

/// The digits of a target's name, in whichever way it is written: `90` of `sm_90a`, `SM90`, `compute_90` and `9.0`.
fn capability(name: &str) -> String {
    let name = name.to_lowercase().replace('.', "");
    let name = name.trim_start_matches("sm").trim_start_matches("compute");
    name.trim_start_matches('_').trim_end_matches('a').to_owned()
}

impl Target {
    /// Finds a target by its name.
    ///
    /// # Errors
    ///
    /// An unknown name; the message lists those there are.
    pub fn parse(name: &str) -> Result<&'static Self, UnknownTarget> {
        TARGETS
            .iter()
            .find(|target| target.name == name)
            .ok_or_else(|| UnknownTarget {
                name: name.to_owned(),
                meant: TARGETS
                    .iter()
                    .find(|target| capability(target.name) == capability(name))
                    .map(|target| target.name),
            })
    }

    /// The target for kernels that, with `only_portable`, are to run on any GPU of the architecture: the multiprocessors of a GPC of which
    /// may hold no cluster of more than the portable size.
    pub fn with_clusters(&self, only_portable: bool) -> Cow<'_, Self> {
        match only_portable {
            true => Cow::Owned(Self {
                cluster_size_non_portable: self.cluster_size,
                ..self.clone()
            }),
            false => Cow::Borrowed(self),
        }
    }

    /// Whether every GPU of the architecture has room for a cluster of so many CTAs.
    pub fn is_portable(&self, ctas: u64) -> bool {
        ctas <= u64::from(self.cluster_size)
    }

    /// The architecture, as LLVM and ptxas spell it.
    pub fn architecture(&self) -> &'static str {
        self.name
            .split_once('-')
            .map_or(self.name, |(architecture, _)| architecture)
    }

    /// The target of an architecture whose part's memory is nearest to a device's, whose bandwidth is in bytes a second; `None` for an
    /// architecture that the table lacks.
    pub fn of_device(architecture: &str, bandwidth: f64) -> Option<&'static Self> {
        let of_architecture = TARGETS
            .iter()
            .filter(|target| target.architecture() == architecture);
        let distance = |target: &Self| (target.part.bandwidth / bandwidth).ln().abs();
        of_architecture.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// The names of all targets, for messages.
    pub fn names() -> String {
        TARGETS
            .iter()
            .map(|target| target.name)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Returns how many CTAs of `threads` threads, with `registers` registers each, an SM holds: bounded by its threads, by its
    /// CTAs, and by its registers, which are allocated to a warp in units of [`REGISTER_UNIT`] for each thread, within one of four
    /// sub-partitions.
    pub fn resident_ctas(&self, threads: u64, registers: u64) -> u64 {
        const SUB_PARTITIONS: u64 = 4;
        let warp = WARP_SIZE as u64;
        let of_partition = u64::from(self.registers_per_sm) / SUB_PARTITIONS;
        let of_warp = registers.max(1).next_multiple_of(REGISTER_UNIT) * warp;
        let warps = of_partition / of_warp * SUB_PARTITIONS;
        (u64::from(self.threads_per_sm) / threads.max(1))
            .min(warps / threads.div_ceil(warp).max(1))
            .min(u64::from(self.ctas_per_sm))
    }

    /// Returns how many CTAs an SM holds of a kernel whose CTAs use `shared` bytes of shared memory, static and dynamic: bounded as by
    /// [`Self::resident_ctas`], and by shared memory at the largest carve-out. Registers that are not known are no bound.
    pub fn occupancy(&self, threads: u64, registers: Option<u64>, shared: u64) -> u64 {
        let by_shared = u64::from(self.shared_per_sm) / shared_taken(shared);
        self.resident_ctas(threads, registers.unwrap_or(0)).min(by_shared)
    }

    /// Whether a driver compiles this target's PTX for later devices too. The PTX of targets with a suffix runs on their own
    /// devices only (PTX ISA, `.target`).
    pub fn has_portable_ptx(&self) -> bool {
        self.architecture().ends_with(|last: char| last.is_ascii_digit())
    }

    /// Whether this target has a feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features
            .iter()
            .any(|generation| generation.contains(&feature))
    }

    /// The names of the architectures that have a feature, for messages.
    pub fn names_with(feature: Feature) -> String {
        let names: Vec<_> = TARGETS
            .iter()
            .filter(|target| target.has(feature) && target.name == target.architecture())
            .map(|target| target.name)
            .collect();
        names.join(", ")
    }
}

/// The shared memory that a resident CTA takes, in bytes, if it uses so many, static and dynamic.
pub fn shared_taken(used: u64) -> u64 {
    used.saturating_add(u64::from(SHARED_OF_CTA) + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_portable_clusters_nothing_else_changes() {
        for target in TARGETS {
            assert_eq!(*target.with_clusters(false), *target);
            let portable = target.with_clusters(true).into_owned();
            assert_eq!(portable.cluster_size_non_portable, target.cluster_size);
            let restored = Target {
                cluster_size_non_portable: target.cluster_size_non_portable,
                ..portable
            };
            assert_eq!(restored, *target);
        }
    }

    #[test]
    fn every_name_parses_to_its_own_row() {
        for target in TARGETS {
            assert_eq!(Target::parse(target.name), Ok(target));
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = Target::parse("sm_70").unwrap_err().to_string();
        assert_eq!(
            message,
            "unknown target 'sm_70', expected one of sm_80, sm_89, sm_90a, sm_90a-h100, sm_100a, sm_103a, sm_120a"
        );
    }

    #[test]
    fn a_device_has_the_target_whose_memory_is_nearest() {
        let of_h100 = Target::of_device("sm_90a", 3.352e12).map(|target| target.name);
        assert_eq!(of_h100, Some("sm_90a-h100"));
        let of_h200 = Target::of_device("sm_90a", 4.917e12).map(|target| target.name);
        assert_eq!(of_h200, Some("sm_90a"));
        assert_eq!(
            Target::of_device("sm_90a", f64::NAN).map(|target| target.name),
            Some("sm_90a")
        );
        assert_eq!(Target::of_device("sm_90", 3.352e12), None);
    }

    #[test]
    fn parts_of_an_architecture_have_its_instructions_and_limits() {
        for target in TARGETS {
            let own = Target::parse(target.architecture()).unwrap();
            let as_own = Target {
                name: own.name,
                part: own.part,
                ..*target
            };
            assert_eq!(&as_own, own);
        }
    }

    #[test]
    fn a_plain_hopper_name_is_pointed_to_the_one_with_the_suffix() {
        assert_eq!(
            Target::parse("sm_90").unwrap_err().hint().as_deref(),
            Some("'sm_90' lacks the architecture's own instructions; ask for 'sm_90a'")
        );
    }

    #[test]
    fn a_target_that_is_written_in_another_way_is_pointed_to() {
        for (name, hint) in [
            ("SM_90A", Some("'SM_90A' is written 'sm_90a'")),
            ("90", Some("'90' is written 'sm_90a'")),
            ("compute_80", Some("'compute_80' is written 'sm_80'")),
            ("8.9", Some("'8.9' is written 'sm_89'")),
            ("sm_70", None),
            ("", None),
        ] {
            assert_eq!(Target::parse(name).unwrap_err().hint().as_deref(), hint);
        }
    }

    #[test]
    fn a_cta_never_gets_more_shared_memory_than_its_sm_has() {
        for target in TARGETS {
            assert_eq!(
                target.shared_per_cta + SHARED_OF_CTA,
                target.shared_per_sm,
                "{}",
                target.name
            );
            assert!(target.shared_per_sm < target.l1_and_shared, "{}", target.name);
        }
    }

    #[test]
    fn registers_and_threads_bound_the_ctas_of_an_sm() {
        assert_eq!(SM_90A.resident_ctas(256, 40), 6);
        assert_eq!(SM_90A.resident_ctas(256, 33), SM_90A.resident_ctas(256, 40));
        assert_eq!(SM_90A.resident_ctas(1024, 65), 0);
        assert_eq!(SM_90A.resident_ctas(32, 16), 32);
    }

    #[test]
    fn shared_memory_bounds_the_ctas_of_an_sm_too() {
        assert_eq!(SM_90A.occupancy(128, Some(32), 0), SM_90A.resident_ctas(128, 32));
        assert_eq!(SM_90A.occupancy(128, None, 0), 16);
        assert_eq!(SM_90A.occupancy(128, Some(255), 0), 2);
        assert_eq!(SM_90A.occupancy(128, Some(32), 227 << 10), 1);
        assert_eq!(SM_90A.occupancy(128, Some(32), (227 << 10) + 1), 0);
        // Two CTAs have 114 KiB each, of which the system takes one.
        assert_eq!(SM_90A.occupancy(128, Some(32), 113 << 10), 2);
        assert_eq!(SM_90A.occupancy(128, Some(32), (113 << 10) + 1), 1);
        assert_eq!(SM_90A.occupancy(128, Some(32), u64::MAX), 0);
    }

    #[test]
    fn only_targets_with_clusters_have_a_cluster_size() {
        for target in TARGETS {
            assert_eq!(
                target.has(Feature::Clusters),
                target.cluster_size > 1,
                "{}",
                target.name
            );
        }
    }
}
