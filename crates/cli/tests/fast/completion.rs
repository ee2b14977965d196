//! Completion in real shells: each loads the script that `fsdyno completions` prints, and completes
//! values that only this program knows. A missing shell skips its test by name.

use crate::support::{Home, have};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Typed lines, and the last word of each when it is completed.
const CASES: [(&str, &str); 8] = [
    ("fsdyno run --fs ext4,btr", "ext4,btrfs"),
    ("fsdyno run bonnie-ch", "bonnie-check"),
    ("fsdyno run --phases stat-w", "stat-walk"),
    ("fsdyno phase copy --engine ur", "uring"),
    ("fsdyno disk show laptop-42", "laptop-4200-2004"),
    ("fsdyno report --against btrfs-20", "btrfs-2008"),
    ("fsdyno doc", "doctor"),
    ("fsdyno report --store STORE 20", "RUN"),
];

/// Time limit of each answer, for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A home with one run, and the words of the cases with its names in them.
fn home_and_cases() -> (Home, Vec<(String, String)>) {
    let home = Home::new();
    let on = format!("dir:{}", home.work().display());
    let line = [
        "run",
        "--engine",
        "null",
        "--phases",
        "copy",
        "-n",
        "1",
        "--dataset",
        "mixed",
    ];
    let output = home.fsdyno(&[&line[..], &["--scale", "0.002", "--on", &on]].concat());
    assert_eq!(output.code, Some(0), "{}", output.err);
    let runs: serde_json::Value =
        serde_json::from_str(&home.fsdyno(&["runs", "--json"]).out).unwrap();
    let run = runs[0]["id"].as_str().unwrap();
    let store = home.path("data/fsdyno/fsdyno.db").display().to_string();
    let filled = |text: &str| text.replace("STORE", &store).replace("RUN", run);
    let cases = CASES.map(|(typed, shown)| (filled(typed), filled(shown)));
    (home, cases.to_vec())
}

/// A command with the built program first on the path, and a home without settings of the user.
fn shell(home: &Home, program: &str) -> Command {
    let mut command = Command::new(program);
    let built = Path::new(env!("CARGO_BIN_EXE_fsdyno")).parent().unwrap();
    command
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", built.display()))
        .env("HOME", home.root.path())
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8");
    command
}

/// An interactive shell on a pseudoterminal.
struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    shown: String,
}

impl Terminal {
    fn start(home: &Home, program: &str, options: &str) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let line = || {
            Stdio::from(
                OpenOptions::new()
                    .read(true)
                    .write(true)
                    .open(&name)
                    .unwrap(),
            )
        };
        // `setsid --ctty` makes the pseudoterminal the terminal of the shell.
        let mut command = shell(home, "setsid");
        command
            .args(["--ctty", "--wait", program])
            .args(options.split_whitespace());
        let child = command
            .stdin(line())
            .stdout(line())
            .stderr(line())
            .spawn()
            .unwrap();
        let keyboard = File::from(master);
        let mut output = keyboard.try_clone().unwrap();
        let (send, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut bytes) {
                if send.send(bytes[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        let shown = String::new();
        Self {
            child,
            keyboard,
            screen,
            shown,
        }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until the text is on the screen; what was there before does not count.
    fn expect(&mut self, text: &str) {
        self.shown.clear();
        while !self.shown.contains(text) {
            match self.screen.recv_timeout(TIMEOUT) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("`{text}` was not shown: {:?}", self.shown)
                }
            }
        }
    }

    /// Types a line, presses Tab, and expects a word of the completed line.
    fn complete(&mut self, typed: &str, word: &str) {
        self.press(&format!("{typed}\t"));
        // Ctrl-A goes to the start of the line: the shell prints the words instead of running them.
        self.press("\u{1}printf '<%s>' \n");
        self.expect(&format!("<{word}>"));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Completes all cases in a shell on a terminal, after its script is loaded.
fn check(program: &str, options: &str, load: &str) {
    let (home, cases) = home_and_cases();
    let mut terminal = Terminal::start(&home, program, options);
    // The text is put together by the shell, so that its echo is not taken for it.
    terminal.press(&format!("PS1='> '; {load}; echo rea''dy\n"));
    terminal.expect("ready");
    for (typed, word) in &cases {
        terminal.complete(typed, word);
    }
}

#[test]
fn bash_completes_commands_and_values() {
    if have(&["bash", "setsid"], "bash_completes_commands_and_values") {
        let load = "bind 'set enable-bracketed-paste off'; source <(fsdyno completions bash)";
        check("bash", "--norc --noprofile -i", load);
    }
}

#[test]
fn zsh_completes_commands_and_values() {
    if have(&["zsh", "setsid"], "zsh_completes_commands_and_values") {
        let load = "autoload -Uz compinit; compinit -D -u; source <(fsdyno completions zsh)";
        check("zsh", "-f -i", load);
    }
}

#[test]
fn fish_completes_commands_and_values() {
    if !have(&["fish"], "fish_completes_commands_and_values") {
        return;
    }
    let (home, cases) = home_and_cases();
    for (typed, shown) in &cases {
        // `complete --do-complete` is the request of the Tab key of fish.
        let script = format!("fsdyno completions fish | source; complete --do-complete '{typed}'");
        let output = shell(&home, "fish")
            .args(["--no-config", "-c", &script])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains(shown),
            "{typed}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
