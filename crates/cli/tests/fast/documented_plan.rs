//! The plan file in docs/plans.md runs, and shows every key.

use crate::support::Home;

const PLANS: &str = include_str!("../../../../docs/plans.md");

/// The plan file in docs/plans.md.
fn example() -> &'static str {
    let (_, rest) = PLANS.split_once("```toml\n").unwrap();
    rest.split_once("```").unwrap().0
}

fn plan(home: &Home, text: &str) -> crate::support::Printed {
    let file = home.path("plan.toml");
    std::fs::write(&file, text).unwrap();
    let work = home.work().display().to_string();
    let file = file.display().to_string();
    let args = ["run", "--dry-run", "--plan", &file, "--work-dir", &work];
    home.fsdyno(&args)
}

#[test]
fn the_documented_plan_is_valid() {
    let home = Home::new();
    let output = plan(&home, example());
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(
        output.out.contains("phase grep") && output.out.contains("--pattern panic"),
        "{}",
        output.out
    );
}

#[test]
fn every_key_of_a_plan_is_documented() {
    let home = Home::new();
    let wrong = [
        "nonsense = 1".to_owned(),
        example().replace("layout =", "nonsense = 1, layout ="),
        example().replace("dataset =", "nonsense = 1\ndataset ="),
        example().replace("cache =", "nonsense = 1, cache ="),
    ];
    for text in wrong {
        let output = plan(&home, &text);
        assert_eq!(output.code, Some(2), "{}", output.out);
        // The error about an unknown key lists all known keys.
        let (_, known) = output.err.split_once("expected one of").unwrap();
        let keys: Vec<&str> = known
            .split_once('[')
            .map_or(known, |(keys, _)| keys)
            .split('`')
            .skip(1)
            .step_by(2)
            .collect();
        assert!(keys.len() > 2, "{}", output.err);
        for key in keys {
            let shown = PLANS.contains(&format!("{key} = ")) || PLANS.contains(&format!("[{key}]"));
            assert!(shown, "`{key}` is not in docs/plans.md: {}", output.err);
        }
    }
}
