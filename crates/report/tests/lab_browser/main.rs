//! The page in a real browser: interaction, both themes, a phone, and print. Without Chromium,
//! these tests are skipped and reported by name.

mod chromium;
#[path = "../all/explored.rs"]
mod explored;
#[path = "../all/fixture.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod fixture;

use chromium::Browser;
use fsdyno_model::ResultSet;
use fsdyno_report::site::{File, Site};
use fsdyno_report::{Format, Options, render, render_exploration};
use serde_json::json;

fn page(set: &ResultSet) -> Vec<u8> {
    render(set, Format::Html, &Options::default()).unwrap()
}

fn exploration() -> Vec<u8> {
    let exploration = explored::exploration();
    render_exploration(&exploration, Format::Html, &Options::default()).unwrap()
}

/// Contenders with two layouts, separated by verdicts, with intervals.
fn layouts() -> ResultSet {
    let mut set = fixture::repeated();
    set.run.plan.contenders[2].layout.name = "pool".into();
    set.run.plan.contenders[2].layout.devices = 2;
    set
}

const PHONE: (u32, u32) = (360, 740);

#[test]
fn the_page_is_silent_and_never_wider_than_its_window_in_both_themes_and_on_a_telephone() {
    let name =
        "the_page_is_silent_and_never_wider_than_its_window_in_both_themes_and_on_a_telephone";
    let Some(mut browser) = Browser::start(name) else {
        return;
    };
    let sets = [
        fixture::run(),
        fixture::many(),
        layouts(),
        fixture::mixed_labs(),
        fixture::single(),
        fixture::empty(),
    ];
    let mut pages: Vec<Vec<u8>> = sets.iter().map(page).collect();
    pages.push(exploration());
    for page in pages {
        for (width, height) in [(1280, 900), PHONE] {
            let mut grounds = Vec::new();
            for scheme in ["light", "dark"] {
                browser.resize(width, height);
                browser.show_as(scheme, "screen");
                browser.open(&page, "");
                let root = "document.documentElement";
                let over = format!("{root}.scrollWidth - {root}.clientWidth + innerWidth");
                let over = browser.evaluate(&over);
                let wide = browser.evaluate(WIDE);
                assert_eq!((over, &wide), (json!(width), &json!([])), "{scheme}");
                grounds.push(browser.text("getComputedStyle(document.body).backgroundColor"));
                let faint = browser.evaluate(FAINT);
                assert_eq!(faint, json!([]), "{scheme}, {width}: too little contrast");
                assert_eq!(browser.noise, [""; 0], "{scheme}, {width}");
            }
            assert_ne!(grounds[0], grounds[1]);
        }
    }
}

#[test]
fn a_site_opens_from_a_directory_and_its_index_is_searched() {
    let Some(mut browser) =
        Browser::start("a_site_opens_from_a_directory_and_its_index_is_searched")
    else {
        return;
    };
    let mut sets = [fixture::run(), fixture::many(), fixture::repeated()];
    for (number, set) in sets.iter_mut().enumerate() {
        set.run.id = format!("run-{number}");
        set.run.provenance.kernel = format!("Linux 6.{number}.0 x86_64");
    }
    let mut site = Site::new(&Options::default());
    let mut files: Vec<File> = sets.iter().map(|set| site.run(set, &[]).unwrap()).collect();
    files.extend(site.finish());
    let path = |file: &File| match file.directory {
        Some(directory) => format!("{directory}/{}", file.name),
        None => file.name.clone(),
    };
    for file in &files {
        browser.write(&path(file), &file.bytes);
    }
    for file in files.iter().filter(|file| file.directory != Some("assets")) {
        for (width, height) in [(1280, 900), PHONE] {
            for scheme in ["light", "dark"] {
                browser.resize(width, height);
                browser.show_as(scheme, "screen");
                browser.open_file(&path(file), &file.bytes, "");
                let name = format!("{}, {width}, {scheme}", path(file));
                let wide = browser.evaluate(WIDE);
                assert_eq!(wide, json!([]), "{name}");
                assert_eq!(browser.evaluate(FAINT), json!([]), "{name}");
                assert_eq!(browser.noise, [""; 0], "{name}");
                // The shared style sheet is in force.
                let brand = "getComputedStyle(document.querySelector('.brand')).fontWeight";
                assert_eq!(browser.text(brand), "650", "{name}");
            }
        }
    }
    let index = files.last().unwrap();
    let shown = "Array.from(document.querySelectorAll('.found tbody tr:not([hidden]) a'), \
                 (link) => link.textContent).join(' ')";
    browser.open_file("index.html", &index.bytes, "#contender=pool&phase=delete");
    assert_eq!(
        browser.text(shown),
        "tree / delete classic / delete run-2 run-1"
    );
    browser.open_file("index.html", &index.bytes, "");
    let type_in = "(() => { const field = document.querySelector('[name=contender]'); \
                   field.value = 'dir:/mnt'; \
                   field.dispatchEvent(new Event('input', {bubbles: true})); })()";
    browser.evaluate(type_in);
    assert!(
        browser.text(shown).ends_with("run-1"),
        "{}",
        browser.text(shown)
    );
    assert_eq!(browser.text("location.hash"), "#contender=dir%3A%2Fmnt");
    let status = "document.querySelector('#search [role=status]').textContent";
    assert!(
        browser.text(status).contains(" of "),
        "{}",
        browser.text(status)
    );
    assert_eq!(browser.noise, [""; 0]);
}

/// Elements wider than the page, outside of scrollable containers.
const WIDE: &str = r"Array.from(document.querySelectorAll('body *'))
  .filter((one) => one.checkVisibility() && !one.closest('.scroll, figure, pre, .skip, .unseen'))
  .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map((one) => one.tagName + '.' + one.className + ': ' + one.textContent.slice(0, 40))";

/// Texts with a contrast below WCAG 2.2, 1.4.3 (AA): 4.5, for large text 3.
const FAINT: &str = r"(() => {
  const parts = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const light = (colour) => {
    const [r, g, b] = parts(colour).slice(0, 3).map((c) => c / 255)
      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (one) => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const faint = new Set();
  for (const one of document.querySelectorAll('body *')) {
    const own = Array.from(one.childNodes).some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !one.checkVisibility() || one.closest('script, svg')) continue;
    const style = getComputedStyle(one);
    const [a, b] = [light(style.color), light(ground(one))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || size >= 18.7 && style.fontWeight >= 700;
    if ((a + 0.05) / (b + 0.05) < (large ? 3 : 4.5)) {
      faint.add(one.className + ': ' + one.textContent.trim().slice(0, 40));
    }
  }
  return Array.from(faint);
})()";

#[test]
fn a_count_of_violations_leads_to_its_unfolded_finding() {
    let Some(mut browser) = Browser::start("a_count_of_violations_leads_to_its_unfolded_finding")
    else {
        return;
    };
    browser.open(&exploration(), "");
    // The page's own listener is called first.
    let open = browser.evaluate(
        "new Promise((done) => {
            const all = [...document.querySelectorAll('details')];
            all.forEach((one) => { one.open = false; });
            const opened = () => all.filter((one) => one.open).map((one) => one.id);
            addEventListener('hashchange', () => done(opened()));
            document.querySelector('.states.bad a').click();
        })",
    );
    assert_eq!(open, json!(["finding-2-1"]));
    browser.open(&exploration(), "#finding-2-2");
    let open = "document.getElementById('finding-2-2').open";
    assert_eq!(browser.evaluate(open), json!(true));
    assert_eq!(browser.noise, [""; 0]);
}

#[test]
fn a_table_is_sorted_by_a_click_and_a_mark_shows_its_sample() {
    let Some(mut browser) =
        Browser::start("a_table_is_sorted_by_a_click_and_a_mark_shows_its_sample")
    else {
        return;
    };
    browser.resize(1280, 900);
    browser.open(&page(&fixture::repeated()), "");
    let order = "Array.from(document.querySelectorAll('.times tbody')[0].rows, \
                 (row) => row.cells[0].textContent).join(' ')";
    assert_eq!(browser.text(order), "ext4 xfs btrfs@pool2");
    let button = ".times th[data-sort] button";
    browser.click(button);
    assert_eq!(browser.text(order), "xfs btrfs@pool2 ext4");
    let sort = "document.querySelector('.times th[data-sort]').getAttribute('aria-sort')";
    assert_eq!(browser.text(sort), "ascending");
    browser.click(button);
    assert_eq!(browser.text(order), "ext4 btrfs@pool2 xfs");
    assert_eq!(browser.text(sort), "descending");

    let tip = "document.querySelector('.tip:not([hidden])')?.textContent ?? ''";
    assert_eq!(browser.text(tip), "");
    browser.point_at(".times tbody tr:nth-child(2) .durable circle");
    // The dots of the first block are drawn first, so they are lowest. Each shows its own tooltip.
    let text = browser.text(tip);
    assert!(
        text.starts_with("block ") && text.ends_with(" ms"),
        "{text}"
    );
    browser.point_at("h1");
    assert_eq!(browser.text(tip), "");

    // A touch shows the text that the browser shows on mouse hover.
    browser.evaluate(
        "document.querySelectorAll('details.unfold').forEach((one) => { one.open = true; })",
    );
    browser.click(".charts svg :is(circle, rect, path):has(> title)");
    assert_ne!(browser.text(tip), "");
    browser.click("h1");
    assert_eq!(browser.text(tip), "");
    assert_eq!(browser.noise, [""; 0]);
}

#[test]
fn what_is_not_chosen_is_hidden_everywhere_and_counted_and_the_address_keeps_it() {
    let Some(mut browser) = Browser::start(
        "what_is_not_chosen_is_hidden_everywhere_and_counted_and_the_address_keeps_it",
    ) else {
        return;
    };
    let page = page(&fixture::run());
    browser.resize(1280, 900);
    browser.open(&page, "");
    // Chromium reports SVG elements without layout as visible.
    let seen = |what: &str| {
        format!(
            "Array.from(document.querySelectorAll('{what}')).filter((one) => \
             one.checkVisibility() && getComputedStyle(one).display !== 'none').length"
        )
    };
    let (cold, xfs) = ("[data-p=\"search / grep cold\"]", "[data-c=xfs]");
    assert_ne!(browser.evaluate(&seen(cold)), json!(0));
    assert_ne!(browser.evaluate(&seen(xfs)), json!(0));
    browser.click("#filters summary");
    browser.click("#filters input[value=xfs]");
    browser.click("#filters input[value='cache cold']");
    for _ in 0..2 {
        assert_eq!(browser.evaluate(&seen(xfs)), json!(0));
        assert_eq!(browser.evaluate(&seen(cold)), json!(0));
        assert_eq!(
            browser.evaluate(&seen("[data-p=\"tree / delete\"]")),
            json!(0)
        );
        assert_ne!(
            browser.evaluate(&seen("[data-p=\"tree / copy\"] [data-c=ext4]")),
            json!(0)
        );
        let text = browser.text("document.querySelector('.hidden-count span').textContent");
        assert_eq!(text, "Hidden: 1 of 3 contenders, 2 of 4 phases.");
        // The same URL shows the same selection.
        let address = browser.text("location.hash");
        assert_eq!(address, "#hide-contender=xfs&hide-cache=cache+cold");
        browser.open(&page, &address);
    }
    browser.click("#show-all");
    assert_ne!(browser.evaluate(&seen(xfs)), json!(0));
    assert_eq!(browser.text("location.hash"), "");

    let shown = "document.querySelector('.overview .to-base').checkVisibility() + ' ' + \
                 document.querySelector('.overview .to-best').checkVisibility()";
    assert_eq!(browser.text(shown), "true false");
    browser.click(".switch input[value=best]");
    assert_eq!(browser.text(shown), "false true");
    assert_eq!(browser.text("location.hash"), "#to=best");
    assert_eq!(browser.noise, [""; 0]);
}

#[test]
fn without_scripts_and_on_paper_every_figure_is_there_and_no_control() {
    let Some(mut browser) =
        Browser::start("without_scripts_and_on_paper_every_figure_is_there_and_no_control")
    else {
        return;
    };
    let page = page(&layouts());
    browser.ask(
        "Emulation.setScriptExecutionDisabled",
        &json!({"value": true}),
    );
    browser.resize(1280, 900);
    browser.open(&page, "");
    let seen = |what: &str| format!("document.querySelector('{what}').checkVisibility()");
    assert_eq!(browser.evaluate(&seen("#filters")), json!(false));
    // The reference of ratios is switched by CSS alone.
    browser.click(".switch input[value=best]");
    assert_eq!(browser.evaluate(&seen("#overview .to-best")), json!(true));
    browser.show_as("light", "print");
    assert_eq!(browser.evaluate(&seen(".switch")), json!(false));
    // Folded charts stay folded, so that a report has few pages.
    let height =
        |what: &str| format!("document.querySelector('{what}').getBoundingClientRect().height > 0");
    assert_eq!(
        browser.evaluate(&height("#times .phase table")),
        json!(true)
    );
    let charts = "#times details.unfold figure";
    assert_eq!(browser.evaluate(&height(charts)), json!(false));
    let pdf = browser.ask("Page.printToPDF", &json!({"printBackground": false}));
    let pdf = pdf["data"].as_str().unwrap();
    assert!(pdf.starts_with("JVBERi"));
    assert!((1..=3).contains(&pages(pdf)), "{} pages", pages(pdf));
    assert_eq!(browser.noise, [""; 0]);
}

/// The number of pages of a PDF in base64.
fn pages(pdf: &str) -> usize {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u32> = pdf.bytes().filter_map(digit).map(u32::from).collect();
    let bytes = digits.chunks_exact(4).flat_map(|four| {
        let bits = four.iter().fold(0, |bits, digit| bits << 6 | digit);
        bits.to_be_bytes().into_iter().skip(1)
    });
    let bytes: Vec<u8> = bytes.collect();
    // `/Type /Pages` is the tree of the pages.
    let page = b"/Type /Page\n";
    bytes
        .windows(page.len())
        .filter(|window| window == page)
        .count()
}
