use super::*;
use crate::programs::{ProgramReport, outputs, refuse_judged};
use crate::tool_run::ToolCommand;
use fsdyno_model::evidence::CacheState;
use fsdyno_model::sample::Better;
use fsdyno_model::{FigureName, PhasePlan};

const MIXED: &str = include_str!("../../../tests/outputs/fio-randrw.json");
/// A section of random reads, one of two jobs with fdatasync, and one with `gtod_reduce`.
const SECTIONS: &str = include_str!("../../../tests/outputs/fio-sections.json");

fn names(report: &ProgramReport) -> Vec<&str> {
    let figures = report.figures.iter();
    figures.map(|figure| figure.name.as_str()).collect()
}

fn parameters(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    let given = given.iter();
    given
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a_real_output_gives_rates_and_percentiles_of_both_directions() {
    let report = FIO.parse(MIXED).unwrap();
    assert_eq!(report.figures.len(), 14, "{:?}", names(&report));
    let of = |name: &str| report.figures.iter().find(|figure| figure.name == name);
    let rate = of("mixed read").unwrap();
    assert_eq!((rate.unit.as_str(), rate.better), ("KiB/s", Better::Higher));
    assert!((rate.value - 34_625_488.0 / 1024.0).abs() < 1e-6);
    let slow = of("mixed write latency p99.9").unwrap();
    assert!((slow.value - 10.56).abs() < 1e-9 && slow.better == Better::Lower);
    let own = MIXED.replace("\"jobname\" : \"mixed\"", "\"jobname\" : \"job\"");
    assert!(names(&FIO.parse(&own).unwrap()).contains(&"read latency max"));
}

#[test]
fn sections_have_figures_of_their_own_and_latencies_of_fdatasync() {
    let report = FIO.parse(SECTIONS).unwrap();
    let expected = [
        ("one read", 7),
        ("two.0 write", 7),
        ("two.0 sync", 5),
        ("two.1 write", 7),
        ("two.1 sync", 5),
        // Its latencies were not measured.
        ("three write", 2),
    ];
    for (prefix, count) in expected {
        let of_it = names(&report)
            .iter()
            .filter(|name| name.starts_with(prefix))
            .count();
        assert_eq!(of_it, count, "{prefix}: {:?}", names(&report));
    }
    assert_eq!(report.figures.len(), 33);
    let text = "[one]\n[two]\nnumjobs=2\n[three]\n";
    outputs::announces(&FIO, &parameters(&[("text", text)]), &report);
    for name in [
        "two write",
        "three read latency p99.9",
        "one sync latency max",
    ] {
        assert_eq!(refused(text, name), None);
    }
    let why = refused(text, "four write").unwrap();
    assert!(why.contains("unknown figure `four write` of fio"), "{why}");
    for name in ["p50", "p99", "p99.9", "max"] {
        let name = format!("two.1 sync latency {name}");
        assert!(outputs::seen(&report, &name).unwrap() > 0.0, "{name}");
    }
}

#[test]
fn missing_fields_are_named() {
    for (from, to, expected) in [
        ("\"total_ios\" : 1454", "\"x\" : 1", "`read total_ios`"),
        ("\"sync\"", "\"x\"", "`sync latency N`"),
        ("\"percentile\"", "\"percent\"", "`percent` is no part"),
        ("\"error\" : 0", "\"error\" : 28", "error 28"),
        ("\"jobs\"", "\"x\"", "`jobs`"),
    ] {
        assert!(MIXED.contains(from), "{from}");
        let error = FIO.parse(&MIXED.replacen(from, to, 1));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("fio") && error.contains(expected), "{error}");
    }
}

#[test]
fn truncated_or_broken_outputs_give_no_figure() {
    for text in [MIXED, SECTIONS] {
        outputs::truncated_output_gives_an_error(&FIO, text, text.trim_end().len());
        let values = |report: &ProgramReport| -> Vec<f64> {
            report.figures.iter().map(|figure| figure.value).collect()
        };
        let whole = values(&FIO.parse(text).unwrap());
        // The name of a section can have any text.
        for same in outputs::read_if_broken(&FIO, text) {
            assert_eq!(values(&same), whole);
        }
    }
}

/// The reason why a job cannot be judged by a figure.
fn refused(text: &str, figure: &str) -> Option<String> {
    let phase = PhasePlan {
        label: NAME.to_owned(),
        kind: NAME.to_owned(),
        cache: CacheState::default(),
        pattern: None,
        parameters: parameters(&[("text", text)]),
        judge: None,
    };
    refuse_judged(&phase, &FigureName::new(figure)).err()
}

#[test]
fn a_job_of_fixed_duration_is_judged_by_the_rate_of_its_first_section() {
    let fixed = "time_based\nruntime=2\n";
    for (text, expected) in [
        ("[a]\nrw=randwrite\n".to_owned(), None),
        (format!("[a]\nrw=randwrite\n{fixed}"), Some("a write")),
        (format!("[job]\nrw=randwrite\n{fixed}"), Some("write")),
        (
            format!("[global]\n{fixed}[a]\nreadwrite=rw:8\n[b]\n"),
            Some("a read"),
        ),
        (format!("[a]\n{fixed}[b]\nrw=write\n"), None),
        (format!("[a]\n{fixed}time_based=0\n"), None),
        (format!("[a]\n{fixed}numjobs=2\n"), Some("a.0 read")),
        (
            format!("[a]\n{fixed}numjobs=2\ngroup_reporting\n"),
            Some("a read"),
        ),
    ] {
        let found = judged(&parameters(&[("text", &text)]));
        assert_eq!(found.as_deref(), expected, "{text}");
    }
    let given = [("rw", "randrw"), ("numjobs", "4"), ("runtime", "1")];
    assert_eq!(judged(&parameters(&given)), None);
    let timed = [&given[..], &[("time_based", "true")]].concat();
    assert_eq!(judged(&parameters(&timed)).as_deref(), Some("read"));
}

#[test]
fn any_option_of_fio_replaces_that_of_the_job_and_an_unknown_one_is_refused_by_fio() {
    let text = "[a]\nrw=write\nsize=1m\niodepth=1\n";
    let given = parameters(&[("text", text), ("iodepth", "8"), ("direct", "true")]);
    let job = job(&given).unwrap();
    let (_, options) = &job.effective()[0];
    assert_eq!((options["iodepth"], options["direct"]), ("8", "1"));
    for (key, value) in [("a b", "1"), ("bs", "4k\nexec_prerun=x")] {
        assert!(super::job(&parameters(&[(key, value)])).is_err());
    }
    if !is_installed("any_option_of_fio_replaces_that_of_the_job") {
        return;
    }
    complete(&mut given.clone()).unwrap();
    let error = complete(&mut parameters(&[("text", text), ("iodept", "8")])).unwrap_err();
    assert!(error.contains("iodept"), "{error}");
}

fn is_installed(test: &str) -> bool {
    let found = fsdyno_files::programs::find(NAME).is_some();
    if !found {
        println!("SKIP fio: {test}");
    }
    found
}

/// Runs the commands of these parameters in a directory: those before, and then the timed one.
fn run_in(directory: &Path, given: &BTreeMap<String, String>) -> (Vec<String>, ToolCommand) {
    let task = Task {
        directory,
        tree: None,
        parameters: given,
    };
    let Commands { before, timed, .. } = commands(&task).unwrap();
    let run = |mut tool: ToolRun| {
        tool.current_dir = Some(directory.to_owned());
        tool.keeps = 1 << 20;
        command::run(&tool, &CancelToken::new()).unwrap()
    };
    for tool in before {
        run(tool);
    }
    let entries = std::fs::read_dir(directory.join("mnt")).unwrap();
    let made = entries.map(|entry| {
        let entry = entry.unwrap();
        let size = entry.metadata().unwrap().len();
        format!("{} {size}", entry.file_name().display())
    });
    let mut made: Vec<String> = made.collect();
    made.sort();
    let ended = run(timed);
    let stdout = String::from_utf8(ended.stdout).unwrap();
    (
        made,
        ToolCommand {
            stdout,
            ..ended.command
        },
    )
}

#[test]
fn files_are_created_untimed_below_the_directory_of_the_contender() {
    if !is_installed("files_are_created_untimed_below_the_directory_of_the_contender") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("job.fio");
    let text = "[global]\ndirectory=/mnt\nsize=64k\nunlink=1\nexec_prerun=touch prerun\n\
                [r]\nrw=read\n[w]\nstonewall\nfilename=/x/y:/z\nrw=write\nfdatasync=1\n";
    std::fs::write(&file, text).unwrap();
    let mut given = parameters(&[("job", file.to_str().unwrap())]);
    complete(&mut given).unwrap();
    std::fs::remove_file(file).unwrap();
    let directory = root.path().join("program");
    std::fs::create_dir(&directory).unwrap();
    let (made, timed) = run_in(&directory, &given);
    assert!(made.contains(&"r.0.0 65536".to_owned()), "{made:?}");
    assert!(made.iter().any(|one| one.starts_with("z ")), "{made:?}");
    let report = FIO.parse(&timed.stdout).unwrap();
    for name in ["r read", "w write", "w sync latency p99.9"] {
        assert!(outputs::seen(&report, name).unwrap() > 0.0, "{name}");
    }
    // The job itself removes its files, and runs its command once.
    assert_eq!(std::fs::read_dir(directory.join("mnt")).unwrap().count(), 1);
    assert!(directory.join("prerun").exists());
}
