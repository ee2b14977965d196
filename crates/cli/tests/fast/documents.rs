//! Every command in README.md and docs can be typed.

use crate::support::Home;
use crate::support::documents::{FENCES, RUN, blocks, pages, words};

#[test]
fn every_command_of_the_documents_is_known_with_its_options() {
    let home = Home::new();
    let (mut checked, mut wrong) = (0, Vec::new());
    for page in pages() {
        for block in blocks(&page) {
            let known = FENCES.contains(&block.fence.as_str());
            assert!(known, "{page}:{}: the fence has no known word", block.line);
            let mut commands = block.commands();
            if block.fence == "console" {
                commands = block.shown().into_iter().map(|one| one.command).collect();
            } else if block.fence != "sh" {
                continue;
            }
            for command in commands {
                let mut words = words(&command);
                assert_eq!(words.remove(0), "fsdyno", "{page}: {command}");
                // The rest is the shell's.
                let rest = words
                    .iter()
                    .position(|word| [">", "|"].contains(&word.as_str()));
                words.truncate(rest.unwrap_or(words.len()));
                // Usage with placeholders is no command.
                if words.iter().any(|word| word.contains("...")) {
                    continue;
                }
                // All words before --help are parsed.
                let own = words.iter().position(|word| word == "--");
                words.insert(own.unwrap_or(words.len()), "--help".to_owned());
                let printed = home.fsdyno(&words);
                checked += 1;
                if printed.code != Some(0) {
                    wrong.push(format!("{page}: {command}: {}", printed.err));
                }
            }
        }
    }
    assert!(checked > 50, "{checked} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_with_output_of_commands_is_run_by_a_test() {
    let console = |page: &String| blocks(page).iter().any(|block| block.fence == "console");
    let pages: Vec<String> = pages().into_iter().filter(console).collect();
    assert_eq!(pages, RUN);
}
