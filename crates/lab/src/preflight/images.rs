//! The sizes of image files. The size of a cell follows from its contender and its workload alone: the
//! same cell has the same disk in every plan.

use super::Prepared;
use crate::filled;
use fsdyno_model::{Bytes, Cell, Contender, DeviceChoice, Plan};
use fsdyno_recipes::Filesystem;

/// The size of the image files of each cell.
#[derive(Debug, Clone, Default)]
pub struct ImageSizes {
    /// For each contender, that of each workload.
    sizes: Vec<Vec<Bytes>>,
}

impl ImageSizes {
    /// The sizes of a plan: the size that it names, or sizes by the needs of its workloads.
    pub(super) fn of_plan(
        plan: &Plan,
        recipes: &[&'static dyn Filesystem],
        workloads: &[Prepared],
    ) -> Self {
        let named = match plan.device {
            DeviceChoice::Loop { size, .. } => size,
            DeviceChoice::Block { .. } | DeviceChoice::None => None,
        };
        let contenders = plan.contenders.iter().zip(recipes);
        let of_contender = |(contender, recipe): (&Contender, &&'static dyn Filesystem)| {
            let size = |workload: &Prepared| {
                named.unwrap_or_else(|| image_size(contender, *recipe, workload.peak))
            };
            workloads.iter().map(size).collect()
        };
        Self {
            sizes: contenders.map(of_contender).collect(),
        }
    }

    /// A remark if the contenders have image files of different sizes, because some are filled.
    pub fn remark(&self, plan: &Plan) -> Option<String> {
        let DeviceChoice::Loop { memory, .. } = plan.device else {
            return None;
        };
        let on_blocks = (0..plan.contenders.len())
            .filter(|number| fsdyno_recipes::on_blocks(&plan.contenders[*number]));
        let smallest = on_blocks.clone().min_by_key(|one| self.largest_of(*one))?;
        let largest = on_blocks.max_by_key(|one| self.largest_of(*one))?;
        let [of_smallest, of_largest] = [smallest, largest].map(|one| self.largest_of(one));
        let label = |number: usize| &plan.contenders[number].label;
        (of_smallest < of_largest).then(|| {
            format!(
                "the image files of {} have {of_smallest}, those of {} {of_largest}, because it is \
                 filled. For one size write --on {}:{}G",
                label(smallest),
                label(largest),
                if memory { "ram" } else { "loop" },
                of_largest.0 >> 30,
            )
        })
    }

    /// The size of each image of a cell; 0 if the plan has no such cell.
    pub fn of(&self, cell: Cell) -> Bytes {
        self.of_pair(cell.contender as usize, cell.workload as usize)
    }

    /// The same, by contender and workload.
    pub(crate) fn of_pair(&self, contender: usize, workload: usize) -> Bytes {
        let sizes = self.sizes.get(contender);
        let size = sizes.and_then(|sizes| sizes.get(workload));
        size.copied().unwrap_or_default()
    }

    /// The largest size of the image files of a contender.
    pub(crate) fn largest_of(&self, contender: usize) -> Bytes {
        let sizes = self.sizes.get(contender).into_iter().flatten();
        sizes.max().copied().unwrap_or_default()
    }
}

/// A device three times the size of its files, in whole GiB, so that no contender is measured on a
/// nearly full device by accident. Images are sparse. The device of a filled contender is large enough
/// for its fill.
fn image_size(contender: &Contender, recipe: &dyn Filesystem, need: Bytes) -> Bytes {
    const GIB: u64 = 1 << 30;
    let filled = filled::device_for(need, contender.state.fill_permille.unwrap_or(0));
    let wanted = need
        .0
        .saturating_mul(3)
        .max(recipe.smallest_bytes().0.saturating_mul(2))
        .max(filled.0)
        .max(2 * GIB);
    Bytes(wanted.div_ceil(GIB) * GIB)
}
