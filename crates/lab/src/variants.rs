//! Variants of a model disk and a model processor: each has one group of parameters changed by its
//! known error.

use fsdyno_cpu::Profile as CpuProfile;
use fsdyno_disk::Profile as DiskProfile;
use fsdyno_model::{ModelCpu, ModelDisk};

/// A model disk and a model processor with one change.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The change: `flushes 2.5 times slower`.
    pub name: String,
    pub disk: ModelDisk,
    /// The processor; none if computing is free.
    pub cpu: Option<ModelCpu>,
}

/// The variants of a model, the processor first. Each known error gives two: slower and faster. The
/// error is a message.
pub fn model_variants(disk: &ModelDisk, cpu: Option<&ModelCpu>) -> Result<Vec<Variant>, String> {
    let mut variants = Vec::new();
    if let Some(cpu) = cpu {
        let profile = CpuProfile::parse(&cpu.profile, &cpu.text).map_err(|e| e.to_string())?;
        let slower = 1.0 + profile.error;
        variants.extend([slower, 1.0 / slower].map(|factor| Variant {
            name: change("processor", factor),
            disk: disk.clone(),
            cpu: Some(ModelCpu {
                text: profile.scaled(factor),
                ..cpu.clone()
            }),
        }));
    }
    let profile = DiskProfile::parse(&disk.profile, &disk.text).map_err(|e| e.to_string())?;
    for (group, [low, high]) in profile.errors() {
        variants.extend([high, low].map(|factor| Variant {
            name: change(group.name(), factor),
            disk: ModelDisk {
                text: profile.scaled(group, factor),
                ..disk.clone()
            },
            cpu: cpu.cloned(),
        }));
    }
    Ok(variants)
}

/// `seeks 20 % slower`, `flushes 2.5 times slower`: a factor of times in words.
fn change(what: &str, factor: f64) -> String {
    let (times, direction) = if factor >= 1.0 {
        (factor, "slower")
    } else {
        (1.0 / factor, "faster")
    };
    if times < 1.995 {
        format!("{what} {:.0} % {direction}", 100.0 * (times - 1.0))
    } else {
        let times = (10.0 * times).round() / 10.0;
        format!("{what} {times} times {direction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model_cpu, model_disk};

    fn names(disk: &str, cpu: Option<&str>) -> Vec<String> {
        let disk = model_disk(disk.as_ref()).unwrap();
        let cpu = cpu.map(|name| model_cpu(name.as_ref()).unwrap());
        let variants = model_variants(&disk, cpu.as_ref()).unwrap();
        for one in &variants {
            assert_ne!((&one.disk, &one.cpu), (&disk, &cpu), "{}", one.name);
        }
        variants.into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn each_known_error_gives_a_slower_and_a_faster_variant() {
        let hdd = names("sata-2008", Some("vm-2026"));
        assert_eq!(
            hdd,
            [
                "processor 15 % slower",
                "processor 15 % faster",
                "seeks 20 % slower",
                "seeks 20 % faster",
                "commands 20 % slower",
                "commands 20 % faster",
                "transfers 10 % slower",
                "transfers 10 % faster"
            ]
        );
        let ssd = names("sata-ssd", None);
        assert!(
            ssd.contains(&"flushes 2.5 times slower".to_owned()),
            "{ssd:?}"
        );
        assert!(
            ssd.contains(&"flushes 4 times faster".to_owned()),
            "{ssd:?}"
        );
        assert!(names("null", None).is_empty());
    }
}
