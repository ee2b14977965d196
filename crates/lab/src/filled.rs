//! Space on filled file systems: how large image files must be so that the workload fits, and how
//! many bytes filling them writes.

use fsdyno_model::{Bytes, Contender, FilesystemKind};

/// The highest utilisation of any contender, in tenths of a percent.
pub(crate) fn fullest(contenders: &[Contender]) -> u32 {
    let fills = contenders.iter().filter_map(|c| c.state.fill_permille);
    fills.max().unwrap_or(0)
}

/// The size of a device that has room for `need` after it is filled to its state. Adds 10 % of
/// `need` for metadata, and 10 % of the device for reserves of the file system.
pub(crate) fn device_for(need: Bytes, permille: u32) -> Bytes {
    if permille == 0 {
        return Bytes(0);
    }
    let free = u128::from(1000_u32.saturating_sub(permille).max(1));
    let device = u128::from(need.0) * 11 * 1000 / (9 * free);
    Bytes(u64::try_from(device).unwrap_or(u64::MAX))
}

/// The space left for the workload on a device of that size: the inverse of [`device_for`].
pub(crate) fn left_on(device: Bytes, permille: u32) -> Bytes {
    let free = u128::from(1000_u32.saturating_sub(permille));
    let left = u128::from(device.0) * 9 * free / (11 * 1000);
    Bytes(u64::try_from(left).unwrap_or(u64::MAX))
}

/// The bytes that filling the image files of a contender writes.
pub(crate) fn written_by(contender: &Contender, image: Bytes) -> Bytes {
    let permille = contender.state.fill_permille.unwrap_or(0);
    let on_blocks = fsdyno_recipes::find(&contender.filesystem)
        .is_some_and(|recipe| recipe.kind() == FilesystemKind::Block);
    if permille == 0 || !on_blocks {
        return Bytes(0);
    }
    // Image files do not shrink: deleted files of an ageing run still take space.
    let part = if contender.state.age > 0 || contender.state.fragmented {
        1000
    } else {
        u128::from(permille)
    };
    let whole = u128::from(image.0) * u128::from(contender.layout.devices) * part / 1000;
    Bytes(u64::try_from(whole).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_the_space_that_it_is_sized_for() {
        for permille in [1, 500, 900, 990] {
            let need = Bytes(100 << 20);
            let left = left_on(device_for(need, permille), permille);
            assert!(need.0 - left.0 < 4096, "{permille}: {left}");
        }
        assert_eq!(device_for(Bytes(1 << 30), 0), Bytes(0));
    }
}
