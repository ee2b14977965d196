//! A headless browser, controlled over a pipe by the `DevTools` protocol. Only the commands for the
//! tests of the page are here. <https://chromedevtools.github.io/devtools-protocol/>

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

/// The timeout of a response, for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The browser with one page.
pub struct Browser {
    child: Child,
    /// Its input pipe; `None` after shutdown.
    input: Option<ChildStdin>,
    received: Receiver<Value>,
    last: u64,
    session: Option<String>,
    /// Errors, warnings and requests of the page since it was opened.
    pub noise: Vec<String>,
    home: TempDir,
}

impl Browser {
    /// Starts the browser. `None` if there is no Chromium; the skipped test is printed.
    pub fn start(test: &str) -> Option<Self> {
        let places = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
        let Some(program) = places.iter().find(|place| Path::new(place).exists()) else {
            println!("SKIP program chromium: {test}");
            return None;
        };
        let home = tempfile::tempdir().unwrap();
        // The protocol uses the file descriptors 3 and 4.
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#])
            .arg(program)
            .args(["--headless=new", "--remote-debugging-pipe", "--disable-gpu"])
            .args(["--no-first-run", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-dev-shm-usage"])
            // Its sandbox does not start as root. The page is trusted.
            .arg("--no-sandbox")
            .arg(format!("--user-data-dir={}", home.path().display()))
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, received) = channel();
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                if let Ok(message) = serde_json::from_slice(&message)
                    && sender.send(message).is_err()
                {
                    return;
                }
            }
        });
        let mut browser = Self {
            input: child.stdin.take(),
            child,
            received,
            last: 0,
            session: None,
            noise: Vec::new(),
            home,
        };
        let target = browser.ask("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", &attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Sends a command, and waits for the response.
    pub fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method});
        message["params"] = parameters.clone();
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.input.as_mut().unwrap().write_all(&bytes).unwrap();
        let id = self.last;
        let mut answer = self.wait(method, |received| received["id"] == id);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Waits for a message; other messages are recorded.
    fn wait(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let received = self.received.recv_timeout(TIMEOUT);
            let received =
                received.unwrap_or_else(|why| panic!("the browser is silent at {what}: {why}"));
            self.listen(&received);
            if is_it(&received) {
                return received;
            }
        }
    }

    fn listen(&mut self, received: &Value) {
        let (method, parameters) = (
            received["method"].as_str().unwrap_or_default(),
            &received["params"],
        );
        let loud = |level: &Value| level == "error" || level == "warning" || level == "assert";
        let noise = match method {
            "Runtime.exceptionThrown" => true,
            "Runtime.consoleAPICalled" => loud(&parameters["type"]),
            "Log.entryAdded" => loud(&parameters["entry"]["level"]),
            // A page is a single document and must load nothing else; a page of a site only its
            // files.
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                let of_site = format!("file://{}/assets/", self.home.path().display());
                parameters["type"] != "Document" && !url.starts_with(&of_site)
            }
            _ => false,
        };
        if noise {
            self.noise.push(received.to_string());
        }
    }

    /// Opens a page with this content, at a fragment of its URL.
    pub fn open(&mut self, page: &[u8], fragment: &str) {
        self.open_file("page.html", page, fragment);
    }

    /// Writes a file into the directory of the pages.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Opens a page in the directory of the pages.
    pub fn open_file(&mut self, name: &str, page: &[u8], fragment: &str) {
        self.noise.clear();
        let path = self.write(name, page);
        // Forces a new document, even if only the fragment differs.
        self.ask("Page.navigate", &json!({"url": "about:blank"}));
        let url = format!("file://{}{fragment}", path.display());
        self.ask("Page.navigate", &json!({"url": url}));
        let ready = "document.readyState === 'complete' && location.protocol === 'file:'";
        for _ in 0..600 {
            if self.evaluate(ready) == json!(true) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{url} does not load");
    }

    /// The value of an expression on the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let request =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.ask("Runtime.evaluate", &request);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].take()
    }

    /// The value of an expression as text.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.evaluate(expression);
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    }

    /// Sets the window size; a phone below 600 pixels.
    pub fn resize(&mut self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": width < 600});
        self.ask("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Sets the colour scheme and the medium (`screen`, `print`).
    pub fn show_as(&mut self, scheme: &str, media: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let emulated = json!({"media": media, "features": features});
        self.ask("Emulation.setEmulatedMedia", &emulated);
    }

    /// Moves the mouse to the middle of an element.
    pub fn point_at(&mut self, selector: &str) -> (f64, f64) {
        let quoted = json!(selector).to_string();
        let place = self.evaluate(&format!(
            "(() => {{ const one = document.querySelector({quoted});
                one.scrollIntoView({{block: 'center', inline: 'center'}});
                const box = one.getBoundingClientRect();
                return [box.left + box.width / 2, box.top + box.height / 2]; }})()"
        ));
        let (x, y) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        self.mouse("mouseMoved", x, y);
        (x, y)
    }

    /// Clicks on an element.
    pub fn click(&mut self, selector: &str) {
        let (x, y) = self.point_at(selector);
        self.mouse("mousePressed", x, y);
        self.mouse("mouseReleased", x, y);
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let pressed = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({"type": kind, "x": x, "y": y, "button": pressed, "clickCount": 1});
        self.ask("Input.dispatchMouseEvent", &event);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends when its pipe closes.
        self.input = None;
        for _ in 0..100 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
