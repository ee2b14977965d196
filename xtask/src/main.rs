//! Commands of the project that need Rust and no shell. `./x` installs what they need and starts them.

mod programs;
mod tests;

use std::process::ExitCode;

const USAGE: &str =
    "usage: xtask test [fast|lab|cluster|browser|all]... [PART OF A TEST'S NAME]...";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.split_first() {
        Some((command, words)) if command == "test" => tests::test(words),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::from(2)
        }
    }
}
