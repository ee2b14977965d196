//! What power cuts during usual work took: an answer in sentences, and a table with a column for
//! each contender.

use crate::crash;
use crate::document::{
    Audience, Block, Cell, Column, Document, Filter, Item, Label, Overflow, Row, Section, Table,
    Tone,
};
use crate::terms;
use fsdyno_model::{Contender, Nanos, PowerCut, Recovery, Series, WorkLoss};
use fsdyno_stats::{median_whole, proportion_interval};
use schemars::JsonSchema;
use serde::Serialize;

/// The answer and the table, for a screen.
pub fn screen(series: &Series) -> Document {
    let id = terms::printable(&series.info.id);
    let more = format!("fsdyno show {id} (each kind of work, each power cut)");
    let rest = vec![
        Item::new("More", Tone::Soft, more),
        Item::new(
            "Page",
            Tone::Soft,
            format!("fsdyno report {id} -o report.html"),
        ),
    ];
    let mut document = with_title(series, summary(series));
    document.blocks.push(Block::List(rest));
    document.title = String::new();
    document
}

/// The answer and each kind of work. Longer formats also have each power cut and its environment.
pub fn document(series: &Series) -> Document {
    let mut blocks = summary(series);
    blocks.push(by_activity(series));
    blocks.push(Block::Only(Audience::Long, crash::power_cuts(series)));
    with_title(series, blocks)
}

/// Each kind of work, and each power cut with its environment.
pub fn details(series: &Series) -> Document {
    let mut blocks = vec![by_activity(series)];
    blocks.extend(crash::power_cuts(series));
    with_title(series, blocks)
}

fn by_activity(series: &Series) -> Block {
    let section = Section::new("activities", "Lost of each kind of work: median (worst)");
    section.with(Block::Table(of_activities(series))).into()
}

fn with_title(series: &Series, blocks: Vec<Block>) -> Document {
    let names = names(series);
    Document {
        page_title: Some(format!("Power cuts on {}", terms::contenders(&names))),
        subtitle: crash::subtitle(series),
        lead: lead(series).into_iter().map(Into::into).collect(),
        blocks,
        filters: Filter::of_contenders(names),
        ..Document::new("fsdyno: power cuts during usual work, and what they took")
    }
}

fn names(series: &Series) -> Vec<String> {
    let contenders = series.info.contenders.iter();
    contenders.map(|one| terms::printable(&one.label)).collect()
}

/// What power cuts during usual work took from a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PowerLosses {
    /// The number of power cuts.
    pub power_cuts: usize,
    /// The time from the oldest lost change until the power cut, without fsync: the median.
    pub median_ns: u64,
    /// The same at worst.
    pub worst_ns: u64,
    /// In how many power cuts something synced was lost.
    pub synced: usize,
    /// In how many a save by rename left neither the old nor the new file.
    pub broken_saves: usize,
    /// In how many a person had to repair the file system.
    pub by_person: usize,
}

impl PowerLosses {
    /// Those of the newest series with such power cuts; none without one.
    pub(crate) fn of(
        series: &[Series],
        is_it: impl Fn(&Contender) -> bool,
        counts: impl Fn(&PowerCut) -> bool,
    ) -> Option<Self> {
        let series = series.iter().filter(|one| one.info.activities.is_some());
        let found = series.filter_map(|series| {
            let contenders = series.info.contenders.iter();
            let labels: Vec<&str> = contenders
                .filter(|one| is_it(one))
                .map(|one| &*one.label)
                .collect();
            let cuts = series.power_cuts.iter();
            let cuts = Cuts {
                name: String::new(),
                all: cuts
                    .filter(|one| labels.contains(&&*one.contender) && counts(one))
                    .collect(),
            };
            Some((series.info.started_unix_ns, cuts.losses()?))
        });
        found
            .max_by_key(|(started, _)| *started)
            .map(|(_, losses)| losses)
    }

    /// The reason why it does not survive power cuts; none if it does.
    pub(crate) fn fails(self) -> Option<String> {
        let of = terms::count(self.power_cuts, "power cut");
        if self.synced > 0 {
            return Some(format!("synced data were lost in {} of {of}", self.synced));
        }
        let by_person = self.by_person;
        (by_person > 0).then(|| format!("a person had to repair it after {by_person} of {of}"))
    }

    /// `changes without fsync of the last 4.99 s are lost in the median, of the last 30.1 s at worst (20
    /// power cuts); nothing synced is lost`.
    pub(crate) fn describe(self) -> String {
        let of = terms::count(self.power_cuts, "power cut");
        let (median, worst) = (Nanos(self.median_ns), Nanos(self.worst_ns));
        let synced = self.fails();
        let synced = synced.unwrap_or_else(|| "nothing synced is lost".to_owned());
        let saves = match self.broken_saves {
            0 => String::new(),
            n => format!(
                "; saves by rename without fsync left neither the old nor the new file in {n} of {}",
                self.power_cuts
            ),
        };
        format!(
            "changes without fsync of the last {median} are lost in the median, of the last {worst} at \
             worst ({of}); {synced}{saves}"
        )
    }
}

/// The power cuts of a contender.
struct Cuts<'a> {
    name: String,
    all: Vec<&'a PowerCut>,
}

fn contenders(series: &Series) -> Vec<Cuts<'_>> {
    let contenders = series.info.contenders.iter();
    let cuts = contenders.map(|contender| {
        let all = series.power_cuts.iter();
        Cuts {
            name: terms::printable(&contender.label),
            all: all.filter(|one| one.contender == contender.label).collect(),
        }
    });
    cuts.filter(|cuts| !cuts.all.is_empty()).collect()
}

impl Cuts<'_> {
    /// The time from the oldest lost change until each power cut, ascending. A file system that cannot
    /// be mounted lost all.
    fn lost(&self) -> Vec<Nanos> {
        let lost = self.all.iter().map(|cut| match &cut.work {
            Some(work) => work.iter().filter_map(|one| one.lost_ns).max(),
            None => Some(cut.after_ns),
        });
        let mut lost: Vec<Nanos> = lost.map(Option::unwrap_or_default).collect();
        lost.sort_unstable();
        lost
    }

    /// The losses; none without a power cut.
    fn losses(&self) -> Option<PowerLosses> {
        let lost = self.lost();
        Some(PowerLosses {
            power_cuts: self.all.len(),
            median_ns: median(lost.iter().copied())?.0,
            worst_ns: lost.last()?.0,
            synced: self.synced(),
            broken_saves: self.with(|one| one.broken_saves > 0),
            by_person: self.by_person(),
        })
    }

    /// In how many power cuts a loss of some activity counts. Without any file, all do.
    fn with(&self, counts: impl Fn(&WorkLoss) -> bool) -> usize {
        let is_hit = |cut: &&&PowerCut| {
            let work = cut.work.as_ref();
            work.is_none_or(|work| work.iter().any(&counts))
        };
        self.all.iter().filter(is_hit).count()
    }

    fn recoveries(&self, counts: impl Fn(&Recovery) -> bool) -> usize {
        let recoveries = self.all.iter().map(|cut| &cut.recovery);
        recoveries.filter(|one| counts(one)).count()
    }

    /// In how many power cuts something synced was lost.
    fn synced(&self) -> usize {
        self.recoveries(|one| one.judgement.as_ref().is_none_or(|all| all.losses() > 0))
    }

    /// In how many power cuts a person had to repair the file system.
    fn by_person(&self) -> usize {
        self.recoveries(|one| one.refused.is_some() || one.beyond_repair.is_some())
    }

    /// `18 of 20 (68–99 %)`.
    fn share(&self, hits: usize) -> String {
        share((hits, self.all.len()), " of ")
    }
}

fn share((hits, all): (usize, usize), of: &str) -> String {
    let interval = proportion_interval(hits as u64, all as u64);
    format!(
        "{hits}{of}{all} ({:.0}\u{2013}{:.0} %)",
        interval.low * 100.0,
        interval.high * 100.0
    )
}

/// The value below which 95 of 100 are: the nearest rank.
fn percentile_95(sorted: &[Nanos]) -> Option<Nanos> {
    let rank = (sorted.len() * 95).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

fn median(times: impl IntoIterator<Item = Nanos>) -> Option<Nanos> {
    median_whole(times.into_iter().map(|time| time.0)).map(Nanos)
}

/// The answer: how much unsynced work is lost, whether synced data are, broken saves, and repairs.
pub(crate) fn lead(series: &Series) -> Vec<String> {
    let contenders = contenders(series);
    let ages = contenders.iter().filter_map(|cuts| {
        let losses = cuts.losses()?;
        let (median, worst) = (Nanos(losses.median_ns), Nanos(losses.worst_ns));
        Some(format!("{} {median} ({worst})", cuts.name))
    });
    let ages: Vec<String> = ages.collect();
    if ages.is_empty() {
        return vec!["No power was cut.".to_owned()];
    }
    let mut sentences = vec![format!(
        "When the power fails, the last work without fsync is lost, in the median (worst) of {}: {}.",
        terms::count(series.info.power_cuts_planned as usize, "power cut"),
        ages.join(", ")
    )];
    let named = |hits: &dyn Fn(&Cuts<'_>) -> usize| -> Vec<String> {
        let named = contenders.iter().filter_map(|cuts| {
            let hits = Some(hits(cuts)).filter(|hits| *hits > 0)?;
            Some(format!("{} in {}", cuts.name, cuts.share(hits)))
        });
        named.collect()
    };
    let synced = named(&|cuts| cuts.synced());
    sentences.push(match synced.len() {
        0 => "Nothing that was synced is lost.".to_owned(),
        _ => format!("Synced data are lost: {}.", synced.join(", ")),
    });
    let saves = named(&|cuts| cuts.with(|one| one.broken_saves > 0));
    sentences.push(match saves.len() {
        0 => "A save by rename always left the old or the new file.".to_owned(),
        _ => format!(
            "A save by rename without fsync left neither the old nor the new file: {}.",
            saves.join(", ")
        ),
    });
    let repaired = named(&|cuts| cuts.by_person());
    sentences.push(match repaired.len() {
        0 => "No recovery needed a person.".to_owned(),
        _ => format!("A person had to repair: {}.", repaired.join(", ")),
    });
    sentences
}

/// The rows of the table on power cuts: what was lost, and how it recovered.
fn rows(cuts: &Cuts<'_>) -> Vec<(&'static str, Cell)> {
    let lost = cuts.lost();
    let time = |time: Option<Nanos>| Cell::known(time, Cell::Duration);
    let share = |hits: usize| Cell::Text(share((hits, cuts.all.len()), "/"));
    let recovery = || cuts.all.iter().map(|cut| cut.recovery.took_ns);
    vec![
        ("work lost, median", time(median(lost.iter().copied()))),
        ("work lost, 95 %", time(percentile_95(&lost))),
        ("work lost, worst", time(lost.last().copied())),
        ("empty files", share(cuts.with(|one| one.empty > 0))),
        ("damaged files", share(cuts.with(|one| one.damaged > 0))),
        ("missing files", share(cuts.with(|one| one.missing > 0))),
        ("broken saves", share(cuts.with(|one| one.broken_saves > 0))),
        ("returned files", share(cuts.with(|one| one.returned > 0))),
        ("synced data lost", share(cuts.synced())),
        ("recovery, median", time(median(recovery()))),
        ("recovery, worst", time(recovery().max())),
        ("by a person", share(cuts.by_person())),
    ]
}

fn summary(series: &Series) -> Vec<Block> {
    let contenders = contenders(series);
    let by_contender: Vec<Vec<(&'static str, Cell)>> = contenders.iter().map(rows).collect();
    let count = by_contender.first().map_or(0, Vec::len);
    let rows = (0..count).map(|place| {
        let cells = by_contender.iter().map(|rows| rows[place].1.clone());
        Row::new(by_contender[0][place].0, cells.collect())
    });
    let table = table("Power cuts", "power cuts with", &contenders, rows.collect());
    let disk = series.info.disk.as_ref();
    let disk = disk.map_or("", |disk| &*disk.profile);
    let legend = format!(
        "work lost: time from the oldest change that is gone until the power cut; empty: had data \
         and has none; damaged: zeros in the place of data, or bytes never written to it; broken \
         saves: neither the old nor the new file after a rename over it; returned: deleted before. \
         POSIX permits all of these for data that were not synced. By a person: a boot does not \
         repair it. Disk: {}, virtual time, processors infinitely fast. Intervals are exact (95 %).",
        terms::printable(disk)
    );
    let mut blocks = vec![Block::Table(table), Block::Legend(legend.into())];
    let tested: Vec<&String> = contenders.iter().map(|cuts| &cuts.name).collect();
    let untested: Vec<String> = names(series)
        .into_iter()
        .filter(|name| !tested.contains(&name))
        .collect();
    if !untested.is_empty() {
        let text = format!("Not tested: {}.", untested.join(", "));
        blocks.push(Block::Paragraph(text.into()));
    }
    blocks
}

fn table(name: &str, rows_are: &'static str, contenders: &[Cuts<'_>], rows: Vec<Row>) -> Table {
    let columns = contenders.iter().map(|cuts| Column {
        is_text: true,
        ..Column::new(Label::contender(cuts.name.clone()))
    });
    Table {
        overflow: Overflow::Split,
        ..Table::new(name, rows_are, columns.collect::<Vec<_>>(), rows)
    }
}

/// How much work of each activity is lost: median and worst, and the files that are harmed.
fn of_activities(series: &Series) -> Table {
    let contenders = contenders(series);
    let mut works = series.power_cuts.iter().filter_map(|cut| cut.work.as_ref());
    let names = works.next().map_or(&[][..], |work| work);
    let rows = names.iter().enumerate().map(|(place, activity)| {
        let cells = contenders.iter().map(|cuts| {
            let works = cuts.all.iter().filter_map(|cut| cut.work.as_ref());
            let of: Vec<&WorkLoss> = works.filter_map(|work| work.get(place)).collect();
            let lost = || of.iter().map(|one| one.lost_ns.unwrap_or_default());
            let (Some(median), Some(worst)) = (median(lost()), lost().max()) else {
                return Cell::Unknown;
            };
            Cell::Text(match (median, worst) {
                (_, Nanos(0)) => "nothing".to_owned(),
                (Nanos(0), worst) => format!("0 ({worst})"),
                (median, worst) => format!("{median} ({worst})"),
            })
        });
        Row::new(terms::printable(&activity.activity), cells.collect())
    });
    table(
        "Work lost: median (worst)",
        "work",
        &contenders,
        rows.collect(),
    )
}

/// The losses of each activity in each power cut, for CSV.
pub fn figures(series: &Series) -> Table {
    let columns = [
        "power cut",
        "activity",
        "lost",
        "files",
        "missing",
        "empty",
        "damaged",
        "saves",
        "broken saves",
        "deleted",
        "returned",
        "first",
    ];
    let cuts = series.power_cuts.iter();
    let rows = cuts.flat_map(|cut| {
        let losses = cut.work.iter().flatten();
        losses.map(|one| {
            let counts = [
                one.files,
                one.missing,
                one.empty,
                one.damaged,
                one.saves,
                one.broken_saves,
                one.deleted,
                one.returned,
            ];
            let mut cells = vec![
                Cell::Count(cut.number.into()),
                Cell::Text(terms::printable(&one.activity)),
                Cell::known(one.lost_ns, Cell::Duration),
            ];
            cells.extend(counts.map(Cell::Count));
            let first = one.first.as_deref().unwrap_or_default();
            cells.push(Cell::Text(terms::printable(first)));
            Row::new(terms::printable(&cut.contender), cells)
        })
    });
    let columns = columns.map(Column::of_text);
    Table::new("losses", "contender", columns, rows)
}
