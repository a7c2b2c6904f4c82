//! How accesses use sectors of memory, and how long the runs are that they take.

use super::{super::facts::Access, measured::*, spread::Spread};

/// How an access uses sectors.
pub(super) struct SectorUse {
    /// The share of the sectors' bytes that one request of a warp uses.
    pub(super) request: f64,
    /// The share that the CTA uses while it holds a tile.
    pub(super) tile: f64,
    /// Bytes of neighbours that are taken together: by one request of a warp where loops bring others in between, else by a CTA.
    pub(super) run: f64,
    /// Bytes of neighbours that one request of a warp takes.
    pub(super) run_of_request: f64,
}

impl SectorUse {
    pub(super) fn of(access: &Access, dims: &[Spread]) -> Self {
        let share = |points: u64| {
            let bytes = (points * access.bytes) as f64;
            bytes / (SECTOR * (bytes / SECTOR).ceil())
        };
        // Points that follow each other in memory: along the contiguous dim, and on along the dim whose points are as far apart
        // as what lies within is long.
        let (mut request, mut tile) = (Some(1), Some(1));
        let (mut of_request, mut of_tile) = (1, 1);
        let mut stride = 1;
        let mut is_run_on = false;
        while let Some(dim) = access.strides.iter().position(|other| *other == Some(stride)) {
            let along = &dims[dim];
            let held = along.of_cta();
            if let Some(points) = request {
                of_request = points * if stride == 1 { along.run() } else { 1 } * along.lanes;
                request = (of_request >= points * along.extent).then_some(points * along.extent);
                of_request = of_request.min(points * along.extent);
            }
            if let Some(points) = tile {
                of_tile = points * held;
                // CTAs that run at the same time are neighbours along the last dim that has several, and those of a kernel
                // without loops stay side by side.
                is_run_on = held < along.extent
                    && dims.iter().all(|dim| !dim.is_looped)
                    && dims[dim + 1..].iter().all(|dim| dim.ctas <= 1);
                tile = (held == along.extent).then_some(of_tile);
            }
            let Some(next) = i64::try_from(along.extent)
                .ok()
                .and_then(|extent| stride.checked_mul(extent))
                .filter(|next| *next != stride)
            else {
                break;
            };
            stride = next;
        }
        Self {
            request: share(of_request),
            tile: share(of_tile),
            run_of_request: (of_request * access.bytes) as f64,
            run: if is_run_on {
                RUN
            } else if dims.iter().any(|dim| dim.is_looped) {
                (of_request * access.bytes) as f64
            } else {
                (of_tile * access.bytes) as f64
            },
        }
    }

    /// Whether a tile is better moved between threads than accessed so, as `gl-optimize-layouts` finds: L2 would serve each sector
    /// more than twice.
    pub(super) fn is_moved(&self) -> bool {
        self.request < 0.5 * self.tile
    }
}
