//! The plan file in docs/plans.md is valid, and the workload in docs/workloads.md runs.

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

#[test]
fn the_documented_workload_runs_from_its_file_and_again_from_the_stored_plan() {
    let page = include_str!("../../../../docs/workloads.md");
    let (_, rest) = page.split_once("mail.toml`:\n\n```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let home = Home::new();
    let file = home.path("mail.toml");
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let shown = home.fsdyno(&["work", "show", &file]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(
        shown.out.contains("files mail: 800 before it begins"),
        "{}",
        shown.out
    );
    assert!(shown.out.contains("4 workers, 20"), "{}", shown.out);
    let first = home.fsdyno(&["work", "show", &file, "--first", "2"]);
    assert!(
        first.out.contains("# worker 4\nunlink mail/d"),
        "{}",
        first.out
    );

    let work = home.work().display().to_string();
    let on = format!("dir:{work}");
    let run = [
        "run", "--on", &on, "--work", &file, "--scale", "0.05", "-n", "2",
    ];
    let run = home.fsdyno(&run);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    std::fs::remove_file(&file).unwrap();
    let again = home.fsdyno(&["run", "--resume", "last", "--repeats", "2"]);
    assert_eq!(again.code, Some(0), "{}{}", again.out, again.err);
    let report = home.fsdyno(&["report", "last"]);
    assert!(report.out.contains("mail"), "{}", report.out);

    std::fs::write(&file, text.replace("\"fsync @m\"", "\"fsinc @m\"")).unwrap();
    let wrong = home.fsdyno(&["run", "--on", &on, "--work", &file]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    for part in [
        "mail.toml:17:3",
        "did you mean `fsync`?",
        "\"fsinc @m\"",
        "^^^^^^^^^^",
    ] {
        assert!(wrong.err.contains(part), "{part}: {}", wrong.err);
    }
}
