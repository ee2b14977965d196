//! Short text for lists of phases: long lists are grouped by workload.

/// Up to this number, phases are named one by one.
const FEW: usize = 12;

/// A phase: its workload (empty if there is only one) and its label, escaped for printing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The workload.
    pub workload: String,
    /// The phase.
    pub label: String,
}

impl Place {
    /// The name in every report.
    pub fn name(&self) -> String {
        if self.workload.is_empty() {
            self.label.clone()
        } else {
            format!("{} / {}", self.workload, self.label)
        }
    }
}

/// These phases, out of all: `tree / copy, tree / delete`; for many, `tree: copy, delete; ports:
/// all 7`.
pub fn in_words(these: &[&Place], all: &[&Place]) -> String {
    if these.len() <= FEW || these.iter().any(|place| place.workload.is_empty()) {
        let names: Vec<String> = these.iter().map(|place| place.name()).collect();
        return names.join(", ");
    }
    let mut by_workload: Vec<(&str, Vec<&str>)> = Vec::new();
    for place in these {
        match by_workload.last_mut() {
            Some((workload, labels)) if *workload == place.workload => labels.push(&place.label),
            _ => by_workload.push((&place.workload, vec![&place.label])),
        }
    }
    let parts = by_workload.into_iter().map(|(workload, labels)| {
        let whole = all
            .iter()
            .filter(|place| place.workload == workload)
            .count();
        if labels.len() == whole && whole > 2 {
            format!("{workload}: all {whole}")
        } else {
            format!("{workload}: {}", labels.join(", "))
        }
    });
    parts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_phases_are_named_and_many_are_grouped_by_workload() {
        let place = |workload: &str, label: String| Place {
            workload: workload.into(),
            label,
        };
        let of = |workload| (0..7).map(move |n| place(workload, format!("p{n}")));
        let all: Vec<Place> = of("a").chain(of("b")).collect();
        let all: Vec<&Place> = all.iter().collect();
        assert_eq!(in_words(&all[6..8], &all), "a / p6, b / p0");
        assert_eq!(
            in_words(&all[1..], &all),
            "a: p1, p2, p3, p4, p5, p6; b: all 7"
        );
        let alone: Vec<Place> = (0..14).map(|n| place("", format!("p{n}"))).collect();
        let alone: Vec<&Place> = alone.iter().collect();
        assert!(in_words(&alone, &alone).starts_with("p0, p1, "));
    }
}
