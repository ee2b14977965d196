//! The way into a system that nobody has configured: the script that lets root in by the key of this
//! run, and its use by the disk of the first configuration or on the serial console.

use super::console::SerialConsole;
use std::time::{Duration, Instant};

/// Lets root in by this key only. Its first line makes it a script for cloud-init and nuageinit(7),
/// which runs it at the end of the first boot. Versions of nuageinit parse it as YAML first: it is
/// one plain scalar there, which ends at `: ` and at ` #`.
pub(super) fn script(key: &str) -> String {
    format!(
        "#!/bin/sh\n\
         umask 077\n\
         mkdir -p /root/.ssh\n\
         echo '{key}' >/root/.ssh/authorized_keys\n\
         if command -v sysrc >/dev/null\n\
         then sysrc sshd_enable=YES sshd_flags='-o PermitRootLogin=prohibit-password -o \
         PasswordAuthentication=no -o KbdInteractiveAuthentication=no -o PermitEmptyPasswords=no'\n\
         service sshd restart\n\
         fi\n"
    )
}

/// Gets an address, if the image asks for none.
const ADDRESS: &str =
    "ifconfig vtnet0 | grep -q 'inet ' || dhclient vtnet0 </dev/null >/dev/null 2>&1\n";

const DONE: &str = "fsdyno-ready";

/// How far a login on the serial console is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The system asks for a name.
    Prompt,
    /// A name was given at this time.
    Named(Instant),
    /// The script was sent.
    Sent,
    /// The script ended.
    Done,
    /// Root has a password.
    Refused,
}

/// A login of root, without a password, on the serial console.
#[derive(Debug)]
pub(super) struct ConsoleLogin {
    step: Step,
    /// When the system asked for a name.
    asked: Option<Instant>,
}

impl ConsoleLogin {
    pub fn new() -> Self {
        Self {
            step: Step::Prompt,
            asked: None,
        }
    }

    /// Whether root has a password there.
    pub fn is_refused(&self) -> bool {
        self.step == Step::Refused
    }

    /// Does the next step. It begins when the system has asked for a name for so long, in which time
    /// it could have run the script itself.
    pub fn advance(&mut self, console: &mut SerialConsole, key: &str, patience: Duration) {
        let text = console.recent();
        let end = text.trim_end();
        match self.step {
            Step::Prompt if end.ends_with("login:") => {
                let asked = *self.asked.get_or_insert_with(Instant::now);
                if asked.elapsed() >= patience {
                    console.send("root\n");
                    self.step = Step::Named(Instant::now());
                }
            }
            Step::Named(_) if end.ends_with("assword:") => {
                console.send("\n");
                self.step = Step::Refused;
            }
            Step::Named(at) if end.ends_with(['#', '$', '%']) && !end.ends_with("login:") => {
                // The shell of root may be csh, and a shell that reads its script from a terminal
                // would print it.
                if at.elapsed() >= Duration::from_secs(1) {
                    console.send(&format!("exec /bin/sh\nstty -echo\n{}", script(key)));
                    console.send(&format!("{ADDRESS}echo fsdyno-\"ready\"\n"));
                    self.step = Step::Sent;
                }
            }
            Step::Sent if text.lines().any(|line| line.trim() == DONE) => {
                console.send("exit\n");
                self.step = Step::Done;
            }
            Step::Prompt | Step::Named(_) | Step::Sent | Step::Done | Step::Refused => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFoo+bar/ fsdyno";

    #[test]
    fn the_script_is_one_plain_scalar_of_yaml_and_valid_shell() {
        let script = script(KEY);
        let body = script.strip_prefix("#!/bin/sh\n").unwrap();
        assert!(!body.contains(": ") && !body.contains(" #"), "{body}");
        for line in body.lines() {
            let first = line.chars().next().unwrap();
            assert!(first.is_ascii_lowercase() && !line.ends_with(':'), "{line}");
        }
        let read = Command::new("sh").args(["-n", "-c", &script]).status();
        assert!(read.unwrap().success());
    }

    #[test]
    fn root_without_a_password_is_let_in_on_the_console() {
        let (mut console, mut guest) = SerialConsole::for_test();
        let mut login = ConsoleLogin::new();
        let mut advance = |login: &mut ConsoleLogin| {
            std::thread::sleep(Duration::from_millis(1100));
            login.advance(&mut console, KEY, Duration::ZERO);
        };
        guest.prints("FreeBSD/amd64 (freebsd) (ttyu0)\r\n\r\nlogin: ");
        advance(&mut login);
        assert_eq!(guest.received(), "root\n");
        guest.prints("root\r\nLast login: Mon\r\nroot@freebsd:~ # \u{1b}[6n");
        advance(&mut login);
        let sent = guest.received();
        assert!(
            sent.starts_with("exec /bin/sh\n") && sent.contains(KEY),
            "{sent}"
        );
        guest.prints("exec /bin/sh\r\n# fsdyno-ready\r\nfsdyno-ready\r\n# ");
        advance(&mut login);
        assert_eq!(login.step, Step::Done);
    }

    #[test]
    fn a_password_of_root_ends_the_login_on_the_console() {
        let (mut console, mut guest) = SerialConsole::for_test();
        let mut login = ConsoleLogin::new();
        for printed in ["login: ", "root\r\nPassword:"] {
            guest.prints(printed);
            std::thread::sleep(Duration::from_millis(200));
            login.advance(&mut console, KEY, Duration::ZERO);
        }
        assert!(login.is_refused());
    }
}
