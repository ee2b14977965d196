//! File systems and image files in memory: whether the machine has enough memory for them.

use super::{ImageSizes, PreflightError};
use fsdyno_model::{Bytes, Contender, FilesystemKind, Plan};
use fsdyno_observe::counters::{memory_available, memory_total};

/// Refuses a contender whose fill and largest workload would need more memory than is available, or
/// whose fill would leave the workload no room.
pub(crate) fn check(plan: &Plan, need: Bytes) -> Result<(), PreflightError> {
    let Some((available, total)) = memory_available().zip(memory_total()) else {
        return Ok(());
    };
    let filled = plan.contenders.iter().filter(|c| !c.state.is_fresh());
    for contender in filled {
        check_one(contender, need, available, total)?;
    }
    Ok(())
}

/// Refuses image files in memory that would not fit when they are full. The cells of a run follow
/// each other, so that only one contender has image files.
pub(crate) fn check_images(plan: &Plan, images: &ImageSizes) -> Result<(), PreflightError> {
    let Some(available) = memory_available().filter(|_| plan.images_in_memory()) else {
        return Ok(());
    };
    let contenders = plan.contenders.iter().enumerate();
    let on_blocks = contenders.filter(|(_, contender)| fsdyno_recipes::on_blocks(contender));
    let sizes = on_blocks.map(|(number, contender)| {
        let devices = u64::from(contender.layout.devices);
        (
            images.largest_of(number).0.saturating_mul(devices),
            contender,
        )
    });
    match sizes.max_by_key(|(size, _)| *size) {
        Some((size, largest)) if size > available.0 => Err(PreflightError::ImagesExceedMemory {
            label: largest.label.clone(),
            size: Bytes(size),
            available,
        }),
        _ => Ok(()),
    }
}

fn check_one(
    contender: &Contender,
    need: Bytes,
    available: Bytes,
    total: Bytes,
) -> Result<(), PreflightError> {
    let recipe = fsdyno_recipes::find(&contender.filesystem);
    let Some(size) = recipe
        .filter(|recipe| recipe.kind() == FilesystemKind::Memory)
        .and_then(|recipe| recipe.size_in_memory(contender, total))
    else {
        return Ok(());
    };
    let permille = contender.state.fill_permille.unwrap_or(0);
    let part = u128::from(size.0) * u128::from(permille) / 1000;
    let written = Bytes(u64::try_from(part).unwrap_or(u64::MAX));
    let left = Bytes(size.0.saturating_sub(written.0));
    if need > left {
        return Err(PreflightError::TooFullInMemory {
            label: contender.label.clone(),
            need,
            left,
            size,
        });
    }
    if written.0.saturating_add(need.0) > available.0 {
        return Err(PreflightError::NotEnoughMemory {
            label: contender.label.clone(),
            written,
            need,
            available,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_without_enough_memory_or_room_is_refused() {
        let mib = |many: u64| Bytes(many << 20);
        let refusal = |text: &str, permille, need| {
            let mut contender = Contender::parse(text, &fsdyno_recipes::kind_of).unwrap();
            contender.state.fill_permille = Some(permille);
            let outcome = check_one(&contender, mib(need), mib(1000), mib(4000));
            outcome.err().map(|error| error.to_string())
        };
        assert_eq!(refusal("tmpfs:size=1000m", 900, 100), None);
        assert_eq!(refusal("tmpfs:size=20%", 900, 80), None);
        for (text, permille, need, words) in [
            ("tmpfs:size=1200m", 800, 100, "available"),
            ("tmpfs:size=50%", 500, 1, "available"),
            (
                "tmpfs:size=1000m",
                950,
                100,
                "50.0 MiB are left of 1000 MiB",
            ),
        ] {
            let reported = refusal(text, permille, need).unwrap();
            assert!(
                reported.contains(words) && reported.contains("size="),
                "{reported}"
            );
        }
        assert_eq!(refusal("ext4", 990, 5000), None);
    }
}
