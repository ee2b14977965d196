//! Charts as drawings, pictures and values, with hostile input.

use crate::fixture::{self, empty, many, mixed_labs, one_phase, repeated, single};
use fsdyno_model::profile::{CallPath, PathWork, Profile};
use fsdyno_model::{Bytes, LatencyDistribution, Nanos, Progress, ResultSet, Slice};
use fsdyno_report::charts::svg::{Appearance, Theme, render};
use fsdyno_report::charts::{Axis, Chart, Kind, Mark, Picture, Scale, png as pictures};
use fsdyno_report::run_charts::{Filter, NoChart, choose, of_run};
use fsdyno_report::{Format, Options};
use resvg::usvg::roxmltree::{Document, Node};

const PAGE: Appearance = Appearance {
    width: 480,
    theme: Theme::Page,
};

fn all(set: &ResultSet) -> Vec<Chart> {
    only_charts(of_run(set, &Filter::default()).unwrap())
}

fn only_charts(pictures: Vec<Picture>) -> Vec<Chart> {
    let charts = pictures.into_iter().filter_map(|picture| match picture {
        Picture::Chart(chart) => Some(chart),
        Picture::Flame(_) => None,
    });
    charts.collect()
}

fn one(set: &ResultSet, name: &str) -> Chart {
    let pictures = of_run(set, &Filter::default()).unwrap();
    only_charts(choose("run", pictures, &[name.to_owned()]).unwrap()).remove(0)
}

/// A run of one phase with an engine that reports latencies and throughput over time.
fn coursed() -> ResultSet {
    let mut set = one_phase(&["ext4", "xfs"], &[&[1000; 3], &[700; 3]]);
    for record in &mut set.cells {
        let slow = 1 + u64::from(record.cell.contender == 0);
        let sample = &mut record.samples[0];
        for (operation, ns) in [("create", 9_000 * slow), ("read", 700)] {
            let buckets = vec![(ns, 9_000), (3 * ns, 950), (40 * ns, 49), (900 * ns, 1)];
            sample.latencies.push(LatencyDistribution {
                operation: operation.into(),
                count: 10_000,
                sum_ns: 10_000 * ns,
                min_ns: ns / 2,
                max_ns: 800 * ns,
                buckets,
            });
        }
        let slice = |at: u64| Slice {
            operations: 1000 - 70 * at * slow,
            bytes: Bytes((10 - at) << 20),
        };
        sample.progress = Some(Progress {
            slice_ns: Nanos(sample.return_ns.0.div_ceil(5)),
            slices: (0..5).map(slice).collect(),
        });
    }
    set
}

#[test]
fn each_kind_of_chart_has_this_drawing() {
    for name in [
        "overview",
        "samples-tree-copy",
        "repeats-tree-copy",
        "cost-tree-copy",
    ] {
        let chart = one(&repeated(), name);
        insta::assert_snapshot!(format!("chart_{name}"), lines(&render(&chart, PAGE)));
    }
    for name in ["latency-tree-copy", "throughput-tree-copy"] {
        let chart = one(&coursed(), name);
        insta::assert_snapshot!(format!("chart_{name}"), lines(&render(&chart, PAGE)));
    }
    let narrow = Appearance {
        width: 280,
        theme: Theme::Dark,
    };
    let svg = render(&one(&many(), "samples-classic-copy"), narrow);
    insta::assert_snapshot!("chart_narrow_dark", lines(&svg));
}

/// One element per line, for readable differences.
fn lines(svg: &str) -> String {
    svg.replace("><", ">\n<")
}

#[test]
fn a_chart_value_contains_everything_that_is_drawn() {
    for chart in all(&repeated()).into_iter().chain(all(&coursed())) {
        let json = serde_json::to_string(&chart).unwrap();
        let read: Chart = serde_json::from_str(&json).unwrap();
        assert_eq!(render(&read, PAGE), render(&chart, PAGE));
    }
    let chart = one(&one_phase(&["ext4", "xfs"], &[&[1000], &[700]]), "overview");
    insta::assert_snapshot!("chart_json", serde_json::to_string_pretty(&chart).unwrap());
}

#[test]
fn every_drawing_is_self_contained_and_every_mark_has_a_label() {
    let sets = [
        fixture::run(),
        repeated(),
        many(),
        single(),
        mixed_labs(),
        coursed(),
    ];
    for chart in sets.iter().flat_map(all) {
        for (width, theme) in [(280, Theme::Light), (360, Theme::Page), (1000, Theme::Dark)] {
            let svg = render(&chart, Appearance { width, theme });
            let document = Document::parse(&svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
            let root = document.root_element();
            assert_eq!(root.attribute("role"), Some("img"));
            let ids = root.attribute("aria-labelledby").unwrap();
            let named = |id: &str| {
                document
                    .descendants()
                    .any(|n| n.attribute("id") == Some(id))
            };
            assert!(ids.split(' ').all(named), "{ids}");
            for node in document.descendants().filter(is_mark) {
                let title = node.children().find(|child| child.has_tag_name("title"));
                let words = title.and_then(|title| title.text()).unwrap_or("");
                assert!(
                    !words.is_empty(),
                    "{} in {}",
                    node.tag_name().name(),
                    chart.name
                );
            }
            let outside = outside(&document);
            assert_eq!(outside, None, "{} at {width}", chart.name);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}

fn is_mark(node: &Node<'_, '_>) -> bool {
    let class = node.attribute("class").unwrap_or("");
    ["o", "m", "r", "i", "b", "h", "l"].contains(&class)
}

/// References from the drawing to external resources.
fn outside(document: &Document<'_>) -> Option<String> {
    let of_box = document.root_element().attribute("viewBox")?;
    let of_box: Vec<f64> = of_box.split(' ').map(|n| n.parse().unwrap()).collect();
    let (right, bottom) = (of_box[0] + of_box[2] + 0.5, of_box[1] + of_box[3] + 0.5);
    let beyond = |node: Node<'_, '_>| {
        let at = |name: &str| {
            node.attribute(name)
                .and_then(|text| text.parse::<f64>().ok())
        };
        let x = at("x").or(at("cx")).unwrap_or(0.0);
        let y = at("y").or(at("cy")).unwrap_or(0.0);
        let beyond = x < of_box[0] - 0.5 || x > right || y < of_box[1] - 0.5 || y > bottom;
        beyond.then(|| format!("{node:?} at {x}, {y}"))
    };
    document.descendants().find_map(beyond)
}

/// Width, height and the pixels of a picture.
fn pixels(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    pixels.truncate(info.buffer_size());
    (info.width, info.height, pixels)
}

#[test]
fn a_picture_has_its_width_and_its_text_and_is_deterministic() {
    let chart = one(&repeated(), "overview");
    let appearance = Appearance {
        width: 360,
        theme: Theme::Light,
    };
    let svg = render(&chart, appearance);
    let bytes = pictures::of_svg(&svg, 2.0).unwrap();
    let (wide, tall, pixels_with) = pixels(&bytes);
    assert_eq!(wide, 720);
    assert!(tall > 100);
    let without = svg.replace("<text", "<desc").replace("</text", "</desc");
    let (.., without) = pixels(&pictures::of_svg(&without, 2.0).unwrap());
    let differing = pixels_with
        .iter()
        .zip(&without)
        .filter(|(a, b)| a != b)
        .count();
    assert!(differing > 2000, "letters change {differing} bytes");
    assert_eq!(pictures::of_svg(&svg, 2.0).unwrap(), bytes);
    // The background is white, and there are marks.
    assert_eq!(pixels_with[..3], [255; 3]);
    assert!(without.iter().any(|byte| *byte < 128));
}

#[test]
fn characters_missing_in_the_font_are_named_and_kept_in_the_svg() {
    let chart = one(&many(), "overview");
    let lacking = pictures::lacking(&Picture::Chart(chart.clone()));
    assert!(
        lacking.contains('日') && !lacking.contains('m'),
        "{lacking}"
    );
    assert!(render(&chart, PAGE).contains("日本語"));
    let chart = Picture::Chart(one(&repeated(), "overview"));
    assert_eq!(pictures::lacking(&chart), "");
}

#[test]
fn a_run_without_figures_is_rejected_and_one_figure_has_no_interval() {
    let nothing = of_run(&empty(), &Filter::default()).unwrap_err();
    assert!(matches!(nothing, NoChart::Nothing { .. }), "{nothing}");
    let chart = one(&single(), "samples-tree-copy");
    let marks = chart.panels.iter().flat_map(|panel| &panel.series);
    let mut marks = marks.flat_map(|one| &one.marks);
    assert!(!marks.any(|mark| matches!(mark, Mark::Interval { .. })));
    assert!(
        !all(&single())
            .iter()
            .any(|chart| chart.kind == Kind::Repeats)
    );
}

#[test]
fn unknown_names_are_rejected_with_the_known_ones() {
    let run = fixture::run();
    let charts = of_run(&run, &Filter::default()).unwrap();
    let error = choose("r", charts.clone(), &["overwiev".into()]).unwrap_err();
    assert!(
        error.to_string().contains("overview, samples-tree-copy"),
        "{error}"
    );
    let samples = choose("r", charts, &["samples".into()]).unwrap();
    assert_eq!(samples.len(), 4);
    let with = |workload: Option<&str>, phase: Option<&str>, contenders: &[&str]| Filter {
        workload: workload.map(str::to_owned),
        phase: phase.map(str::to_owned),
        contenders: contenders.iter().map(|&c| c.to_owned()).collect(),
    };
    for (filter, known) in [
        (with(Some("nothing"), None, &[]), "tree and search"),
        (
            with(None, Some("untar"), &[]),
            "copy, delete, grep cold and grep warm",
        ),
        (
            with(None, None, &["ntfs"]),
            "ext4, xfs and btrfs:compress=zstd,<b>",
        ),
    ] {
        let error = of_run(&run, &filter).unwrap_err().to_string();
        assert!(error.contains(known), "{error}");
    }
    let filter = with(Some("tree"), Some("copy"), &["xfs"]);
    let charts = only_charts(of_run(&run, &filter).unwrap());
    assert!(charts.iter().all(|chart| chart.drawn() == [1]));
    let names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "overview",
            "samples-tree-copy",
            "repeats-tree-copy",
            "cost-tree-copy"
        ]
    );
    // Ratios refer to the baseline of the run, even if it is not drawn.
    let svg = render(&charts[0], PAGE);
    assert!(
        svg.contains("0.78\u{d7}") && svg.contains("ratios to ext4"),
        "{svg}"
    );
}

/// A run whose first cells of two contenders have a profile.
fn profiled() -> ResultSet {
    let mut set = one_phase(&["ext4", "xfs"], &[&[1000], &[700]]);
    for record in &mut set.cells {
        let contender = record.cell.contender;
        let path = |caller, function, blocks| CallPath {
            caller,
            function,
            own: PathWork {
                blocks,
                ..PathWork::default()
            },
        };
        record.samples[0].profile = Some(Profile {
            functions: ["processes", "vfs_mkdir", "<b>"].map(str::to_owned).into(),
            sources: vec![String::new(); 3],
            paths: vec![
                path(None, 0, 0),
                path(Some(0), 1, 1000),
                path(Some(1), 2, 500 * u64::from(contender)),
            ],
            ..Profile::default()
        });
    }
    set
}

#[test]
fn stored_profiles_are_drawn_as_flame_graphs_of_each_contender_and_of_their_difference() {
    let pictures = of_run(&profiled(), &Filter::default()).unwrap();
    let flames = choose("r", pictures, &["flame".to_owned()]).unwrap();
    let names: Vec<&str> = flames.iter().map(Picture::name).collect();
    assert_eq!(
        names,
        [
            "flame-tree-copy-ext4",
            "flame-tree-copy-xfs",
            "flame-tree-copy-ext4-xfs"
        ]
    );
    for appearance in [
        PAGE,
        Appearance {
            theme: Theme::Dark,
            ..PAGE
        },
    ] {
        let svg = flames[2].svg(appearance);
        let xml = Document::parse(&svg).unwrap();
        let titles = xml.descendants().filter(|node| node.has_tag_name("title"));
        let titles: Vec<&str> = titles.filter_map(|node| node.text()).collect();
        assert_eq!(
            titles[1..],
            [
                "processes: ext4 1,000 blocks (0 its own), xfs 1,500 (0 its own)",
                "vfs_mkdir: ext4 1,000 blocks (1,000 its own), xfs 1,500 (1,000 its own)",
                "<b>: ext4 0 blocks (0 its own), xfs 500 (500 its own)"
            ]
        );
    }
    assert!(
        pictures::of_svg(
            &flames[0].svg(Appearance {
                theme: Theme::Light,
                ..PAGE
            }),
            1.0
        )
        .is_ok()
    );
    let only = Filter {
        contenders: vec!["xfs".to_owned()],
        ..Filter::default()
    };
    let alone = choose(
        "r",
        of_run(&profiled(), &only).unwrap(),
        &["flame".to_owned()],
    )
    .unwrap();
    assert_eq!(alone.len(), 1);
    let without = of_run(&fixture::run(), &Filter::default()).unwrap();
    let error = choose("r", without, &["flame".to_owned()]).unwrap_err();
    assert!(
        error.to_string().contains("r A B PHASE --functions"),
        "{error}"
    );
}

#[test]
fn chart_names_are_unique_and_valid_file_names() {
    for set in [fixture::run(), many(), mixed_labs()] {
        let charts = all(&set);
        let mut names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
        let fit = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        assert!(names.iter().all(fit), "{names:?}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), charts.len());
    }
}

#[test]
fn many_samples_are_drawn_in_bins_with_a_note() {
    const BLOCKS: u64 = 130;
    let times = |slow: u64| -> Vec<u64> {
        let noise = |block: u64| block * 7919 % 101;
        (0..BLOCKS).map(|block| slow + noise(block)).collect()
    };
    let set = one_phase(&["ext4", "xfs"], &[&times(900), &times(700)]);
    let named = |name: &str| one(&set, name);
    let chart = named("samples-tree-copy");
    assert!(
        chart.notes[0].contains("More than 120 samples"),
        "{:?}",
        chart.notes
    );
    for panel in &chart.panels[..2] {
        let counted = |mark: &Mark| match mark {
            Mark::Bin { label, .. } => label
                .split(": ")
                .nth(1)?
                .split(' ')
                .next()?
                .parse::<u64>()
                .ok(),
            _ => None,
        };
        for one in &panel.series {
            let counts: u64 = one.marks.iter().filter_map(counted).sum();
            assert_eq!(counts, BLOCKS);
        }
    }
    let repeats = named("repeats-tree-copy");
    assert!(
        repeats.notes[1].contains("Of 130 blocks"),
        "{:?}",
        repeats.notes
    );
    for chart in [chart, repeats] {
        let svg = render(&chart, PAGE);
        assert!(svg.len() < 150_000, "{}: {} bytes", chart.name, svg.len());
    }
}

#[test]
fn figures_outside_the_scale_are_counted() {
    let mut chart = one(&repeated(), "overview");
    let labels = [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e-300, 1e300];
    for (at, x) in labels.into_iter().enumerate() {
        chart.panels[0].series[1].marks.push(Mark::Middle {
            x,
            y: 0.5,
            label: format!("odd {at}"),
        });
    }
    let svg = render(&chart, PAGE);
    assert!(
        svg.contains("4 marks have no place on their scale"),
        "{svg}"
    );
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    // The same scales without values, with one value, and with these.
    for scale in [Scale::Linear, Scale::FromZero, Scale::Log, Scale::Nines] {
        let mut chart = one(&coursed(), "throughput-tree-copy");
        let axes = |chart: &mut Chart, scale| {
            for panel in &mut chart.panels {
                panel.x.scale = scale;
                let up: &mut Axis = panel.y.as_mut().unwrap();
                up.scale = scale;
            }
        };
        axes(&mut chart, scale);
        assert!(Document::parse(&render(&chart, PAGE)).is_ok());
        for points in [
            vec![],
            vec![(0.0, 0.0)],
            vec![(f64::NAN, 1.0), (1e300, -1e300)],
        ] {
            let label = "odd".to_owned();
            chart.panels[0].series[0].marks = vec![Mark::Line { points, label }];
            let svg = render(&chart, PAGE);
            assert!(Document::parse(&svg).is_ok());
            assert!(
                !svg.contains("NaN") && !svg.contains("inf"),
                "{scale:?} {svg}"
            );
        }
    }
}

#[test]
fn extreme_and_zero_times_are_drawn() {
    let set = one_phase(&["ext4", "xfs"], &[&[0, 0, 1], &[1_000_000; 3]]);
    for chart in all(&set) {
        let svg = render(&chart, PAGE);
        assert!(Document::parse(&svg).is_ok());
        assert!(
            !svg.contains("NaN") && !svg.contains("inf"),
            "{}: {svg}",
            chart.name
        );
    }
}

#[test]
fn contenders_with_far_times_have_a_log_scale_that_is_stated_and_bars_that_are_seen() {
    let set = one_phase(&["ext4", "xfs"], &[&[100; 6], &[2000; 6]]);
    for (name, ticks) in [
        ("samples-tree-copy", ["100 ms", "1 s"]),
        ("repeats-tree-copy", ["100 ms", "1 s"]),
        ("overview", ["10", "20"]),
    ] {
        let svg = render(&one(&set, name), PAGE);
        for text in ticks.into_iter().chain([", log scale"]) {
            assert!(
                svg.contains(&format!("{text}<")),
                "{name} has no {text}: {svg}"
            );
        }
    }
    let page = fsdyno_report::render(&set, Format::Html, &Options::default()).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("bars: log scale from 20 ms"));
    // The shortest bar is more than a tenth of the width, and the longest does not fill it.
    let shown = page
        .split("class=\"return\"><rect y=\"1\" width=\"")
        .skip(1);
    let parts = shown.map(|rest| rest.split('%').next().unwrap().parse().unwrap());
    let parts: Vec<f64> = parts.collect();
    assert!(
        parts.len() == 2 && parts[0] > 10.0 && parts[1] < 97.0,
        "{parts:?}"
    );

    let near = one_phase(&["ext4", "xfs"], &[&[100; 6], &[900; 6]]);
    let svg = render(&one(&near, "samples-tree-copy"), PAGE);
    assert!(
        svg.contains(">0<") && !svg.contains("time, log scale"),
        "{svg}"
    );
}

#[test]
fn no_label_of_a_chart_is_cut_at_any_width() {
    let long = "btrfs:mkfs=--checksum sha256,mount=compress=zstd:15,noatime@raid1c3,3 disks";
    let set = one_phase(&["ext4", long], &[&[100; 6], &[2000; 6]]);
    for chart in all(&set) {
        for width in [280, 480, 1000] {
            let appearance = Appearance {
                width,
                theme: Theme::Page,
            };
            let svg = render(&chart, appearance);
            let document = Document::parse(&svg).unwrap();
            let texts = document.descendants().filter(|n| n.has_tag_name("text"));
            let texts: String = texts.filter_map(|text| text.text()).collect();
            let plain = |text: &str| text.replace(' ', "");
            assert!(
                plain(&texts).contains(&plain(long)) && !texts.contains('\u{2026}'),
                "{} at {width}: {texts}",
                chart.name
            );
        }
    }
}
