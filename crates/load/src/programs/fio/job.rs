//! A job file of fio: sections of options. Includes are replaced by their text and variables by their
//! values, and names of files are moved below the directory on the contender.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;

/// Options that name what is read and written, as lists with colons (fio(1)).
const DATA: [&str; 5] = [
    "filename",
    "directory",
    "filename_format",
    "opendir",
    "replay_redirect",
];
/// Options that name a file of the user to read.
const INPUT: &str = "read_iolog";
/// Options that write a file next to the data. It would be measured, and lost with the contender.
const LOGS: [&str; 5] = [
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "write_iolog",
];
/// What must not happen twice or delay the pass that creates files.
const ONCE: [&str; 3] = ["exec_prerun", "exec_postrun", "startdelay"];
/// The section whose options are those of all later ones.
const GLOBAL: &str = "global";
/// Includes within includes; fio has the same limit.
const MAX_DEPTH: usize = 16;
/// The length of a job with its includes, bytes.
const MAX_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    sections: Vec<Section>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    name: String,
    options: Vec<Setting>,
}

/// An option. A switch has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    key: String,
    value: Option<String>,
}

impl Job {
    /// Reads a job file of the user with its includes.
    pub fn read(file: &Path) -> Result<Self, String> {
        let mut job = Self::of_text(&with_includes(file, MAX_DEPTH)?)?;
        if let Some(folder) = file.parent() {
            job.find_input(folder);
        }
        Ok(job)
    }

    /// Parses the text of a job.
    pub fn of_text(text: &str) -> Result<Self, String> {
        let mut sections: Vec<Section> = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|l| l.split(']').next()) {
                let (name, options) = (name.to_owned(), Vec::new());
                sections.push(Section { name, options });
                continue;
            }
            if included(line).is_some() {
                return Err(format!("`{line}`: only a job file can include another"));
            }
            let section = sections.last_mut();
            let section = section.ok_or_else(|| format!("`{line}` is in no section"))?;
            section.options.push(Setting::of_line(line));
        }
        Ok(Self { sections })
    }

    pub fn of_section(name: &str) -> Self {
        Self {
            sections: vec![Section {
                name: name.to_owned(),
                options: Vec::new(),
            }],
        }
    }

    /// Sets an option of all sections.
    pub fn set(&mut self, key: &str, value: Option<&str>) {
        self.remove(&[key]);
        for section in self.sections.iter_mut().filter(|one| one.name != GLOBAL) {
            section.options.push(Setting {
                key: key.to_owned(),
                value: value.map(str::to_owned),
            });
        }
    }

    /// Sets an option of the sections that do not set it.
    pub fn set_default(&mut self, key: &str, value: &str) {
        let options = vec![Setting {
            key: key.to_owned(),
            value: Some(value.to_owned()),
        }];
        let name = GLOBAL.to_owned();
        self.sections.insert(0, Section { name, options });
    }

    /// Replaces the variables `${NAME}` by their values.
    pub fn expand(&mut self, variable: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        let settings = self.sections.iter_mut().flat_map(|one| &mut one.options);
        for value in settings.filter_map(|setting| setting.value.as_mut()) {
            *value = expanded(value, &variable)?;
        }
        Ok(())
    }

    fn remove(&mut self, keys: &[&str]) {
        for section in &mut self.sections {
            section.options.retain(|one| !keys.contains(&&*one.key));
        }
    }

    /// Moves all names below the directory in which fio is started, and omits its logs.
    pub fn confine(&mut self) {
        self.remove(&LOGS);
        let settings = self.sections.iter_mut().flat_map(|one| &mut one.options);
        for setting in settings.filter(|one| DATA.contains(&&*one.key)) {
            if let Some(value) = &mut setting.value {
                let names: Vec<String> = names(value).map(below).collect();
                *value = names.join(":");
            }
        }
    }

    /// Makes each section a group. `group_reporting` then merges the copies of a section (`numjobs`),
    /// and not sections that run at the same time.
    pub fn report_each_section(&mut self) {
        self.set("new_group", Some("1"));
    }

    /// The directories that fio expects to exist.
    pub fn directories(&self) -> Vec<String> {
        let settings = self.sections.iter().flat_map(|one| &one.options);
        let values = settings.filter(|one| one.key == "directory");
        let values = values.filter_map(|one| one.value.as_deref());
        let all = values.flat_map(names).map(|name| name.replace("\\:", ":"));
        all.collect()
    }

    /// The job that only creates the files, as fio does before its clock starts.
    pub fn layout(&self) -> Self {
        let mut job = self.clone();
        job.remove(&ONCE);
        job.set("create_only", Some("1"));
        job.set("unlink", Some("0"));
        job
    }

    /// The sections that are jobs, each with its options and those of the global sections before it.
    pub fn effective(&self) -> Vec<(&str, BTreeMap<&str, &str>)> {
        let mut global = BTreeMap::new();
        let mut jobs = Vec::new();
        for section in &self.sections {
            let own = section.options.iter();
            let own = own.map(|one| (&*one.key, one.value.as_deref().unwrap_or("1")));
            if section.name == GLOBAL {
                global.extend(own);
            } else {
                let mut options = global.clone();
                options.extend(own);
                jobs.push((&*section.name, options));
            }
        }
        jobs
    }

    /// Names the files of the user by their whole path, because fio is started elsewhere.
    fn find_input(&mut self, folder: &Path) {
        let settings = self.sections.iter_mut().flat_map(|one| &mut one.options);
        for setting in settings.filter(|one| one.key == INPUT) {
            if let Some(value) = &mut setting.value {
                let whole = names(value).map(|name| match folder.join(name) {
                    path if path.exists() => path.display().to_string(),
                    _ => name.to_owned(),
                });
                *value = whole.collect::<Vec<_>>().join(":");
            }
        }
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for section in &self.sections {
            writeln!(f, "[{}]", section.name)?;
            for Setting { key, value } in &section.options {
                f.write_str(key)?;
                if let Some(value) = value {
                    write!(f, "={value}")?;
                }
                f.write_char('\n')?;
            }
        }
        Ok(())
    }
}

impl Setting {
    fn of_line(line: &str) -> Self {
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key, Some(value.trim().to_owned())),
            None => (line, None),
        };
        let key = key.trim().to_owned();
        Self { key, value }
    }
}

/// The text of a job file with that of the files that it includes, which are relative to it.
fn with_includes(file: &Path, depth: usize) -> Result<String, String> {
    let name = file.display();
    let text = fsdyno_files::input::read_text(file);
    let text = text.map_err(|error| format!("cannot read the job file {name}: {error}"))?;
    let mut whole = String::new();
    for line in text.lines() {
        match included(line.trim()) {
            None => whole.push_str(line),
            Some(_) if depth == 0 => {
                return Err(format!("{name}: more than {MAX_DEPTH} includes in a row"));
            }
            Some(other) => {
                let other = file.parent().unwrap_or(Path::new("")).join(other);
                let text = with_includes(&other, depth - 1);
                whole.push_str(&text.map_err(|why| format!("{name}: `{}`: {why}", line.trim()))?);
            }
        }
        whole.push('\n');
        if whole.len() > MAX_BYTES {
            return Err(format!("{name} with its includes is longer than 1 MiB"));
        }
    }
    Ok(whole)
}

/// The file that a line includes: as fio reads it, after the word and one more byte.
fn included(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    let mut rest = rest.chars();
    rest.next();
    Some(rest.as_str().trim())
}

/// A value with the variables `${NAME}` replaced.
fn expanded(value: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut rest = value;
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, end)) = after.split_once('}') else {
            break;
        };
        let found = variable(name).filter(|found| !found.contains(['\n', '\0']));
        let found = found.ok_or_else(|| {
            format!("the variable `{name}` is not set: export {name}=... before fsdyno")
        })?;
        text.push_str(before);
        text.push_str(&found);
        rest = end;
    }
    Ok(text + rest)
}

/// The names of a list; a colon after a backslash is part of a name.
fn names(list: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    list.split(move |c| {
        let ends = c == ':' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })
}

/// A name below the current directory: an absolute one as if that were the root directory.
fn below(name: &str) -> String {
    let leaves = name.starts_with('/') || name.split('/').any(|part| part == "..");
    if !leaves {
        return name.to_owned();
    }
    let mut parts = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confined(text: &str) -> String {
        let mut job = Job::of_text(text).unwrap();
        job.confine();
        job.to_string()
    }

    #[test]
    fn names_that_leave_the_contender_are_below_its_directory() {
        for (line, expected) in [
            ("directory=/mnt", "directory=mnt"),
            ("directory = /mnt/./x/:/a\\:b", "directory=mnt/x:a\\:b"),
            ("filename=/dev/sda", "filename=dev/sda"),
            ("filename=a:/b:c/../../d", "filename=a:b:d"),
            (
                "filename_format=/var/$jobnum",
                "filename_format=var/$jobnum",
            ),
            ("opendir=/", "opendir=."),
            ("filename=a/b", "filename=a/b"),
            ("rw=read", "rw=read"),
            ("stonewall", "stonewall"),
        ] {
            let text = confined(&format!("[x]\n# directory=/\n{line}\n"));
            assert_eq!(text, format!("[x]\n{expected}\n"));
        }
        let logs = "[x]\nwrite_bw_log\nwrite_lat_log=/tmp/x\nrw=read\n";
        assert_eq!(confined(logs), "[x]\nrw=read\n");
    }

    #[test]
    fn includes_variables_and_logs_to_replay_are_found_from_the_job_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("sub")).unwrap();
        let text = "[global]\ninclude sub/more.fio\n[a]\nread_iolog=io.log\nfilename=${D}/${N}.x\n";
        std::fs::write(path("job.fio"), text).unwrap();
        std::fs::write(path("sub/more.fio"), "include last.fio\nbs=4k").unwrap();
        std::fs::write(path("sub/last.fio"), "directory=/mnt").unwrap();
        std::fs::write(path("io.log"), "").unwrap();
        let mut job = Job::read(&path("job.fio")).unwrap();
        let error = job.clone().expand(|_| None).unwrap_err();
        assert!(error.contains("`D` is not set"), "{error}");
        job.expand(|name| Some(format!("/of-{name}"))).unwrap();
        job.confine();
        let log = path("io.log");
        let expected = format!(
            "[global]\ndirectory=mnt\nbs=4k\n[a]\nread_iolog={}\nfilename=of-D/of-N.x\n",
            log.display()
        );
        assert_eq!(job.to_string(), expected);
        assert_eq!(job.directories(), ["mnt"]);
        std::fs::write(path("sub/last.fio"), "include more.fio").unwrap();
        let error = Job::read(&path("job.fio")).unwrap_err();
        assert!(error.contains("16 includes"), "{error}");
        std::fs::remove_file(path("sub/more.fio")).unwrap();
        let error = Job::read(&path("job.fio")).unwrap_err();
        assert!(error.contains("include sub/more.fio"), "{error}");
    }

    #[test]
    fn an_option_that_is_set_replaces_that_of_every_section() {
        let text = "[global]\nbs=4k\nexec_prerun=x\n[a]\nbs=8k\nrw=read\n[b]\nunlink=1\n";
        let mut job = Job::of_text(text).unwrap();
        job.set("bs", Some("1m"));
        job.set_default("rw", "write");
        let sizes: Vec<_> = job
            .effective()
            .iter()
            .map(|(_, options)| options["bs"])
            .collect();
        assert_eq!(sizes, ["1m", "1m"]);
        let directions: Vec<_> = job.effective().iter().map(|(_, one)| one["rw"]).collect();
        assert_eq!(directions, ["read", "write"]);
        let layout = job.layout();
        assert!(!layout.to_string().contains("exec_prerun"));
        let all = |key: &str, value: &str| layout.effective().iter().all(|one| one.1[key] == value);
        assert!(all("create_only", "1") && all("unlink", "0"));
    }

    #[test]
    fn an_option_before_the_first_section_and_an_include_of_a_text_are_refused() {
        for (text, named) in [("bs=4k\n[a]\n", "bs=4k"), ("[a]\ninclude=x\n", "include=x")] {
            let error = Job::of_text(text).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }
}
