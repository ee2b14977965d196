//! The blocks `console` of README.md and docs are run, in one home for each page, and print what the
//! page shows: the same words, and figures within 1 %, because another build of fsdyno executes a few
//! other blocks of the kernel. `FSDYNO_UPDATE_DOCS=1` writes today's output into the pages.

use crate::digest::is_recorded;
use crate::support::documents::{Block, RUN, Shown, blocks, root, words};
use crate::support::{Home, have, lab_kernel, printed};
use std::fs;

/// Runs the commands of a page.
fn run(page: &str) {
    let programs = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];
    let Some(kernel) = lab_kernel(page).filter(|_| have(&programs, page)) else {
        return;
    };
    if !is_recorded(&kernel) {
        println!("SKIP kernel and mkfs of the recorded digests: {page}");
        return;
    }
    // The commands find the kernel where `lab setup` puts it: CACHE/fsdyno/kernels/NAME/linux.
    let cache = kernel.ancestors().nth(4).unwrap();
    assert!(RUN.contains(&page));
    let home = Home::new();
    let update = std::env::var_os("FSDYNO_UPDATE_DOCS").is_some();
    let (mut wrong, mut updated) = (Vec::new(), Vec::new());
    for shown in blocks(page)
        .iter()
        .filter(|block| block.fence == "console")
        .flat_map(Block::shown)
    {
        let words = words(&shown.command);
        let mut command = home.command(&words[1..]);
        command.current_dir(root()).env("COLUMNS", "80");
        command.env("XDG_CACHE_HOME", cache);
        let output = printed(&command.output().unwrap());
        // A search that finds something exits with 1.
        assert!(
            matches!(output.code, Some(0 | 1)),
            "{page}: {}: {}",
            shown.command,
            output.err
        );
        let lines: Vec<&str> = output.out.lines().map(str::trim_end).collect();
        if let Err(what) = compare(&shown.output, &lines) {
            match refreshed(&shown.output, &lines).filter(|_| update) {
                Some(new) => updated.push((shown, new)),
                None => wrong.push(format!(
                    "{page}: $ {}\n{what}\nIt printed:\n{}{}",
                    shown.command, output.out, output.err
                )),
            }
        }
    }
    write(page, updated);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The parts of shown output between lines `...`.
fn parts(shown: &[String]) -> impl Iterator<Item = &[String]> {
    let parts = shown.split(|line| line == "...");
    parts.filter(|part| !part.is_empty())
}

/// Finds each part in the output, after the part before it.
fn compare(shown: &[String], output: &[&str]) -> Result<(), String> {
    let mut rest = output;
    for part in parts(shown) {
        let same = |lines: &[&str]| part.iter().zip(lines).all(|(a, b)| alike(a, b));
        let at = rest.windows(part.len()).position(same);
        let at = at.ok_or_else(|| format!("It does not print:\n{}", part.join("\n")))?;
        rest = &rest[at + part.len()..];
    }
    Ok(())
}

/// Whether two lines have the same words, and figures within 1 % or one in the last digit.
fn alike(shown: &str, printed: &str) -> bool {
    let near = |one: &str, other: &str| {
        let figure = |word: &str| {
            word.trim_matches(|at: char| !at.is_ascii_digit())
                .replace(',', "")
        };
        let (a, b) = (figure(one), figure(other));
        let rest =
            |word: &str| word.replace(|at: char| at.is_ascii_digit() || ".,".contains(at), "");
        let digits = a.split_once('.').map_or(0, |(_, digits)| digits.len());
        let last = 10_f64.powi(-i32::try_from(digits).unwrap());
        match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => {
                (a - b).abs() <= (0.01 * a.abs()).max(1.01 * last) && rest(one) == rest(other)
            }
            _ => one == other,
        }
    };
    let (shown, printed) = (shown.split_whitespace(), printed.split_whitespace());
    shown.clone().count() == printed.clone().count()
        && shown
            .zip(printed)
            .all(|(one, other)| near(one, other) || is_rule(one, other))
}

/// Whether both are the line below the heads of a table.
fn is_rule(one: &str, other: &str) -> bool {
    [one, other]
        .iter()
        .all(|word| word.len() > 3 && word.bytes().all(|byte| byte == b'-'))
}

/// The same parts of today's output: from the line that begins like the first one to the line that
/// begins like the last one. `None` if a part has no such lines.
fn refreshed(shown: &[String], output: &[&str]) -> Option<Vec<String>> {
    let like = |a: &str, b: &str| {
        let letters = |of: &str| {
            let words = of.chars().filter(|one| one.is_alphabetic() || *one == '-');
            words.take(12).collect::<String>()
        };
        letters(a) == letters(b)
    };
    let (mut from, mut new) = (0, Vec::new());
    for part in shown.split_inclusive(|line| line == "...") {
        let (mark, lines) = match part.split_last() {
            Some((last, lines)) if last == "..." => (Some(last.clone()), lines),
            _ => (None, part),
        };
        if let (Some(first), Some(last)) = (lines.first(), lines.last()) {
            let begin = from + output[from..].iter().position(|line| like(line, first))?;
            let least = begin + usize::from(lines.len() > 1);
            let end = least + output[least..].iter().position(|line| like(line, last))?;
            new.extend(output[begin..=end].iter().map(|line| (*line).to_owned()));
            from = end + 1;
        }
        new.extend(mark);
    }
    Some(new)
}

/// Replaces what a page shows of these commands.
fn write(page: &str, updated: Vec<(Shown, Vec<String>)>) {
    if updated.is_empty() {
        return;
    }
    let path = root().join(page);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (shown, new) in updated.into_iter().rev() {
        lines.splice(shown.line..shown.line + shown.output.len(), new);
    }
    fs::write(&path, lines.join("\n") + "\n").unwrap();
}

#[test]
fn the_commands_of_the_readme_print_what_it_shows() {
    run("README.md");
}

#[test]
fn the_commands_on_crash_tests_print_what_the_page_shows() {
    run("docs/crash-tests.md");
}

#[test]
fn the_commands_on_labs_print_what_the_page_shows() {
    run("docs/labs.md");
}

#[test]
fn the_commands_on_model_disks_print_what_the_page_shows() {
    run("docs/model-disks.md");
}

#[test]
fn the_commands_on_model_processors_print_what_the_page_shows() {
    run("docs/model-processors.md");
}

#[test]
fn the_commands_on_why_print_what_the_page_shows() {
    run("docs/why.md");
}
