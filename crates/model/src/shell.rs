//! Quoting for a POSIX shell.

/// Words as a line for a POSIX shell. A word that contains `$LOOP` keeps that variable unquoted.
pub fn shell_line(argv: &[String]) -> String {
    argv.iter()
        .map(|word| quote(word))
        .collect::<Vec<_>>()
        .join(" ")
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word.contains("$LOOP") {
        return quote_around_variables(word);
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Double quotes, in which only `$LOOP0` is expanded: `device=$LOOP0,device=$LOOP1`.
fn quote_around_variables(word: &str) -> String {
    let mut quoted = String::from("\"");
    for (at, c) in word.char_indices() {
        let variable = c == '$'
            && word[at..]
                .strip_prefix("$LOOP")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if matches!(c, '"' | '\\' | '`') || (c == '$' && !variable) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        let words = ["it's", "$HOME", "a\nb", "", "*?", "-O", "^dir_index"].map(str::to_owned);
        let line = format!("printf '%s\\0' {}", shell_line(&words));
        let output = std::process::Command::new("sh")
            .args(["-c", &line])
            .output()
            .unwrap();
        let back: Vec<_> = output
            .stdout
            .split(|b| *b == 0)
            .map(String::from_utf8_lossy)
            .collect();
        assert_eq!(back[..words.len()], words);
    }
}
