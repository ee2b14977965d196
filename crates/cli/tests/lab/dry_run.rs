//! A dry run prints the commands that a run executes, as a script that works. Needs root.

use crate::support::{Home, loops_backed_under, root_and};
use std::path::Path;
use std::process::Command;

const MKFS: [&str; 3] = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];

/// A plan with every kind of contender: own devices, a pool, memory, a directory.
fn request(home: &Home) -> Vec<String> {
    let work = home.work().display().to_string();
    let directory = home.path("directory");
    std::fs::create_dir_all(&directory).unwrap();
    let contenders = format!(
        "ext4:noatime,xfs,btrfs@pool2,tmpfs,dir:{}",
        directory.display()
    );
    ["run", "atime", "--fs", &contenders, "--work-dir", &work]
        .into_iter()
        .chain(["--scale", "0.002", "--repeats", "1", "--seed", "5"])
        .map(str::to_owned)
        .collect()
}

fn script(home: &Home) -> String {
    let mut args = request(home);
    args.push("--dry-run".into());
    let printed = home.fsdyno(&args);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    printed.out
}

/// The lines of a cell that a shell can execute without fsdyno.
fn lines_of(script: &str, cell: usize) -> Vec<String> {
    let begin = format!("# cell {cell}:");
    script
        .lines()
        .skip_while(|line| !line.starts_with(&begin))
        .skip(1)
        .take_while(|line| !line.starts_with("# cell "))
        .filter(|line| !line.starts_with('#') && !line.starts_with("fsdyno "))
        .map(str::to_owned)
        .collect()
}

/// Replaces names in the lines with those that the run chose: devices and directory.
fn as_run(lines: &[String], executed: &[String]) -> Vec<String> {
    let devices: Vec<&str> = executed
        .iter()
        .filter_map(|line| line.strip_prefix("losetup --detach "))
        .collect();
    // The first command creates the directory of the cell.
    let made = executed.iter().find(|line| line.starts_with("mkdir"));
    let name = made.unwrap().rsplit('/').next().unwrap();
    let number = name.rsplit('-').next().unwrap();
    let printed = format!("fsdyno-dry-{number}");
    lines
        .iter()
        .map(|line| {
            let mut line = line.replace(&printed, name).replace('"', "");
            for (number, device) in devices.iter().enumerate() {
                let variable = format!("LOOP{number}");
                line = line.replace(&format!("${variable}"), device);
                if let Some(command) = line.strip_prefix(&format!("{variable}=$(")) {
                    line = command.trim_end_matches(')').to_owned();
                }
            }
            line
        })
        .collect()
}

#[test]
fn a_dry_run_prints_the_commands_that_a_run_executes() {
    if !root_and(&MKFS, "a_dry_run_prints_the_commands_that_a_run_executes") {
        return;
    }
    let home = Home::new();
    let script = script(&home);
    let printed = home.fsdyno(&request(&home));
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    for cell in 0..5 {
        let printed = home.fsdyno(&["show", "last", "--commands", &cell.to_string()]);
        assert_eq!(printed.code, Some(0), "{}", printed.err);
        let executed: Vec<String> = printed
            .out
            .lines()
            .map(|line| line.trim_end_matches("  # by system call").to_owned())
            .collect();
        // A phase that reads in memory is repeated, each time with its sync.
        let once = |mut lines: Vec<String>| {
            lines.dedup();
            lines
        };
        let planned = as_run(&lines_of(&script, cell), &executed);
        assert_eq!(once(planned), once(executed));
    }
    home.assert_cleanable();
}

#[test]
fn the_script_of_a_dry_run_runs_without_an_error_and_leaves_nothing() {
    if !root_and(
        &MKFS,
        "the_script_of_a_dry_run_runs_without_an_error_and_leaves_nothing",
    ) {
        return;
    }
    let home = Home::new();
    let binary = Path::new(env!("CARGO_BIN_EXE_fsdyno"));
    let path = std::env::var("PATH").unwrap_or_default();
    let ran = Command::new("bash")
        .args(["-e", "-u", "-c", &script(&home)])
        .env(
            "PATH",
            format!("{}:{path}", binary.parent().unwrap().display()),
        )
        .output()
        .unwrap();
    let printed = crate::support::printed(&ran);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    assert_eq!(printed.out.matches("grep (").count(), 10, "{}", printed.out);
    assert_eq!(home.left_in_work(), Vec::<std::path::PathBuf>::new());
    let directory = std::fs::read_dir(home.path("directory")).unwrap();
    assert_eq!(directory.count(), 0);
    assert_eq!(loops_backed_under(home.root.path()), Vec::<String>::new());
}
