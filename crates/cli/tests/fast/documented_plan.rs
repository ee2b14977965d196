//! The plan file in docs/plans.md is valid.

use crate::support::Home;

#[test]
fn the_documented_plan_is_valid() {
    let page = include_str!("../../../../docs/plans.md");
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (plan, _) = rest.split_once("```").unwrap();
    let home = Home::new();
    let file = home.path("plan.toml");
    std::fs::write(&file, plan).unwrap();
    let (file, work) = (file.display(), home.work().display().to_string());
    let args = [
        "run",
        "--dry-run",
        "--plan",
        &file.to_string(),
        "--work-dir",
        &work,
    ];
    let output = home.fsdyno(&args);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(
        output.out.contains("phase grep") && output.out.contains("--pattern panic"),
        "{}",
        output.out
    );
}
