//! The site of an atlas: an index with its picture, a page for each work, file system and disk, and the
//! report of each question.

use super::{File, INDEX, assets, index, unique};
use crate::atlas::{
    Answer, AnswerAtSize, Atlas, AtlasAnswers, Contended, Question, legend, list, of_one,
};
use crate::charts::svg::{Appearance, Theme, render as draw};
use crate::compare::RunVerdict;
use crate::disk_faults;
use crate::document::{Block, Column, Document, Label, Row, Section, Table, Text};
use crate::formats::html;
use crate::lists;
use crate::options::{Assets, Options};
use crate::power_losses::PowerLosses;
use crate::{ReportError, run_report, terms};
use fsdyno_model::{Contender, FaultTests, Series};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The directories of the site. All files in them belong to it.
pub const DIRECTORIES: [&str; 5] = ["assets", "disks", "filesystems", "questions", "works"];

/// The kinds of pages that answers lead to, with what they are about.
type Pages = BTreeMap<(&'static str, String), String>;

/// The files of the site, the index as the last one. `option` names the atlas in commands:
/// ` --atlas FILE`, or nothing for the shipped one.
pub fn pages(atlas: &Atlas, option: &str, options: &Options) -> Result<Vec<File>, ReportError> {
    let site = Site::of(atlas, option, options);
    let mut files: Vec<File> = assets().into();
    for question in &atlas.questions {
        let set = question.run(&atlas.head);
        let mut document = run_report::document(&set, &site.options);
        let name = terms::printable(&question.name());
        let at_size = AnswerAtSize::of(atlas, question);
        // Advice about its run does not fit: it is in no store.
        document.lead = vec![at_size.sentence(&question.work, &question.disk).into()];
        document.page_title = Some(name.clone());
        document.subtitle = site.answers.origin();
        document.footer = String::new();
        document.blocks.insert(
            0,
            Block::paragraph(
                Text::default()
                    .plain("Verify these figures, to the nanosecond: ")
                    .code(format!("fsdyno atlas verify {name}{option}"))
                    .plain(". Measure it anew, with costs and causes: ")
                    .code(format!(
                        "fsdyno run {} --disk {} --scale {} --fs LIST",
                        question.work, question.disk, question.plan.scale
                    ))
                    .plain("."),
            ),
        );
        files.push(site.file("questions", &question.name(), &document));
    }
    for work in &site.works {
        files.push(site.file("works", work, &site.work(work)));
    }
    for disk in &site.disks {
        files.push(site.file("disks", disk, &site.disk(disk, atlas)));
    }
    for contender in &site.contenders {
        files.push(site.file("filesystems", contender, &site.filesystem(contender)));
    }
    files.push(File {
        directory: None,
        name: INDEX.to_owned(),
        bytes: site.index(),
    });
    Ok(files)
}

struct Site {
    options: Options,
    option: String,
    answers: AtlasAnswers,
    works: Vec<String>,
    disks: Vec<String>,
    contenders: Vec<String>,
    faults: Option<FaultTests>,
    power_cuts: Option<Series>,
    pages: Pages,
}

impl Site {
    fn of(atlas: &Atlas, option: &str, options: &Options) -> Self {
        let answers = atlas.answers(&[], &[]);
        let all = || answers.answers.iter();
        let works = lists::unique(all().map(|one| one.work.clone()));
        let disks = lists::unique(all().map(|one| one.disk.clone()));
        let contenders = all().flat_map(|one| &one.sizes).flat_map(|one| {
            let contenders = one.contenders.iter();
            contenders.map(|one| one.contender.clone())
        });
        let contenders = lists::unique(contenders);
        let mut names = BTreeSet::new();
        let mut pages = Pages::new();
        let questions: Vec<String> = atlas.questions.iter().map(Question::name).collect();
        let kinds = [
            ("works", &works),
            ("disks", &disks),
            ("filesystems", &contenders),
            ("questions", &questions),
        ];
        for (directory, all) in kinds {
            for one in all {
                let name = unique(&mut names, directory, one);
                pages.insert((directory, one.clone()), name);
            }
        }
        Self {
            options: Options {
                assets: Assets::Shared { root: "../" },
                ..*options
            },
            option: option.to_owned(),
            works,
            disks,
            contenders,
            faults: atlas.fault_tests(),
            power_cuts: atlas.power_cuts(),
            pages,
            answers,
        }
    }

    /// The name of the page of that kind about something.
    fn name(&self, directory: &'static str, about: &str) -> &str {
        let page = self.pages.get(&(directory, about.to_owned()));
        page.map_or(INDEX, String::as_str)
    }

    /// The address of a page, from a page of another kind.
    fn address(&self, directory: &'static str, about: &str) -> String {
        format!("../{directory}/{}", self.name(directory, about))
    }

    fn file(&self, directory: &'static str, about: &str, document: &Document) -> File {
        File {
            directory: Some(directory),
            name: self.name(directory, about).to_owned(),
            bytes: html::render(document, &self.options),
        }
    }

    /// A page with the origin of its figures and the legend.
    fn document(&self, title: &str, lead: Vec<Text>, blocks: Vec<Block>) -> Document {
        let mut document = Document::new(terms::printable(title));
        document.subtitle = self.answers.origin();
        document.lead = lead;
        document.blocks = blocks;
        let legend = legend(&self.answers.answers);
        document.blocks.push(Block::Legend(legend.into()));
        document
    }

    fn work(&self, work: &str) -> Document {
        let of_work = || self.answers.answers.iter().filter(|one| one.work == work);
        let sections = of_work().map(|answer| {
            let mut blocks = of_one(answer).split_off(1);
            self.link_contenders(&mut blocks);
            let mut links = Text::default().plain("Each phase, with all draws: ");
            for (number, one) in answer.sizes.iter().enumerate() {
                let name = question(answer, one);
                let comma = if number > 0 { ", " } else { "" };
                links = links
                    .plain(comma)
                    .on_page(name.clone(), self.address("questions", &name));
            }
            blocks.push(Block::paragraph(links.plain(".").plain(" Verify: ").code(
                format!(
                    "fsdyno atlas verify {}/{}{}",
                    answer.work, answer.disk, self.option
                ),
            )));
            let mut section = Section::new(answer.disk.clone(), answer.disk.clone());
            section.blocks = blocks;
            let suffix = format!("-{}", answer.disk);
            section.blocks.iter_mut().for_each(|block| {
                if let Block::Section(one) = block {
                    one.add_suffix(&suffix);
                }
            });
            Block::Section(section)
        });
        let lead = of_work().map(|answer| answer.sentence().into()).collect();
        self.document(work, lead, sections.collect())
    }

    fn disk(&self, disk: &str, atlas: &Atlas) -> Document {
        let answers = self.answers.answers.iter().filter(|one| one.disk == disk);
        let answers: Vec<Answer> = answers.cloned().collect();
        let lead = answers.iter().map(|answer| answer.sentence().into());
        let lead = lead.collect();
        let mut table = list(&answers);
        for row in table.groups.iter_mut().flat_map(|group| &mut group.rows) {
            let page = self.address("works", &row.label.full);
            row.label.page = Some(page);
        }
        let mut blocks = vec![Block::Table(table)];
        if let Some(profile) = atlas.head.disks.get(disk) {
            let section = Section::new("profile", "Its model");
            blocks.push(section.with(Block::Code(profile.clone())).into());
        }
        self.document(disk, lead, blocks)
    }

    fn filesystem(&self, contender: &str) -> Document {
        let columns = [
            Column::new("total"),
            Column::new("ratio"),
            Column::of_text("in draws"),
            Column::of_text("verdict"),
        ];
        let rows = self.results(contender).map(|(answer, at_size, one)| {
            let name = question(answer, at_size);
            let page = self.address("questions", &name);
            Row::new(Label::from(name).on_page(page), at_size.cells(one))
        });
        let table = Table::new("Results", "question", columns, rows);
        let mut lead: Vec<Text> = vec![self.summary(contender).into()];
        if let Some(tests) = &self.faults {
            let mut tests = tests.clone();
            tests.tests.retain(|one| one.contender == *contender);
            lead.extend(disk_faults::sentences(&tests).into_iter().map(Text::from));
        }
        let is_it = |one: &Contender| one.label == *contender;
        let series = self.power_cuts.as_ref().map(std::slice::from_ref);
        if let Some(losses) = series.and_then(|one| PowerLosses::of(one, is_it, |_| true)) {
            lead.push(format!("When the power fails, {}.", losses.describe()).into());
        }
        self.document(contender, lead, vec![Block::Table(table)])
    }

    /// The results of a contender.
    fn results<'a>(
        &'a self,
        contender: &'a str,
    ) -> impl Iterator<Item = (&'a Answer, &'a AnswerAtSize, &'a Contended)> {
        let answers = self.answers.answers.iter();
        let sizes = answers.flat_map(|answer| answer.sizes.iter().map(move |size| (answer, size)));
        sizes.filter_map(move |(answer, size)| {
            let mut all = size.contenders.iter();
            let one = all.find(|one| one.contender == contender)?;
            Some((answer, size, one))
        })
    }

    /// How often a contender is the answer, in a sentence.
    fn summary(&self, contender: &str) -> String {
        let all: Vec<_> = self.results(contender).collect();
        let count = |is: &dyn Fn(&AnswerAtSize, &Contended) -> bool| {
            let found = all.iter().filter(|(_, size, one)| is(size, one));
            found.count()
        };
        let name = contender.to_owned();
        let alone = count(&|size, _| size.fastest == [name.clone()]);
        let among = count(&|size, _| size.fastest.len() > 1 && size.fastest.contains(&name));
        let slower = count(&|_, one| one.durable && one.verdict == Some(RunVerdict::Slower));
        let lost = count(&|_, one| !one.durable);
        let parts = [
            (alone, "fastest in"),
            (
                among,
                "equivalent to the fastest or not separated from it in",
            ),
            (slower, "slower than the fastest in"),
            (lost, "not durable in"),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, what)| format!("{what} {count}"))
            .collect();
        format!(
            "Of {}: {}.",
            terms::count(all.len(), "question"),
            parts.join("; ")
        )
    }

    /// Links the contenders of all tables to their pages.
    fn link_contenders(&self, blocks: &mut [Block]) {
        for block in blocks {
            match block {
                Block::Table(table) => {
                    let rows = table.groups.iter_mut().flat_map(|group| &mut group.rows);
                    for row in rows.filter(|row| row.label.is_contender) {
                        row.label.page = Some(self.address("filesystems", &row.label.full));
                    }
                }
                Block::Section(section) => self.link_contenders(&mut section.blocks),
                _ => {}
            }
        }
    }

    fn index(&self) -> Vec<u8> {
        let mut page = String::new();
        let assets = Assets::Shared { root: "" };
        html::begin(&mut page, &self.answers.title, assets);
        let _ = writeln!(
            page,
            r#"<p class="sub">{}</p>"#,
            html::escape(&self.answers.origin())
        );
        html::begin_content(&mut page);
        let chart = self.answers.chart();
        for (width, class) in [(800, "wide"), (380, "narrow")] {
            let appearance = Appearance {
                width,
                theme: Theme::Page,
            };
            // Identifiers are unique on a page.
            let chart = crate::charts::Chart {
                name: format!("{}-{class}", chart.name),
                ..chart.clone()
            };
            let svg = draw(&chart, appearance);
            let _ = writeln!(page, r#"<figure class="{class}">{svg}</figure>"#);
        }
        index::search(
            &mut page,
            self.contenders.iter().collect(),
            ("Work", self.works.iter().collect()),
        );
        let answers = &self.answers.answers;
        let headings = ["work", "disk", "fastest", "then"];
        index::table(&mut page, "Answers", &headings, answers, |page, answer| {
            let all = answer.sizes.iter().flat_map(|one| &one.contenders);
            let contenders = lists::unique(all.map(|one| one.contender.clone()));
            index::begin_row(page, &contenders, std::slice::from_ref(&answer.work));
            index::link(
                page,
                "works",
                &format!("{}#{}", self.name("works", &answer.work), answer.disk),
                &answer.work,
            );
            index::text(page, &answer.disk);
            index::text(page, &answer.by_size(AnswerAtSize::named));
            index::text(page, &answer.by_size(AnswerAtSize::then));
        });
        for (directory, heading, what) in [
            ("filesystems", "File systems", "file system"),
            ("disks", "Disks", "disk"),
        ] {
            let is_disk = directory == "disks";
            let rows = if is_disk {
                &self.disks
            } else {
                &self.contenders
            };
            index::table(&mut page, heading, &[what, "answers"], rows, |page, row| {
                let contenders = if is_disk {
                    &[][..]
                } else {
                    std::slice::from_ref(row)
                };
                index::begin_row(page, contenders, &[]);
                index::link(page, directory, self.name(directory, row), row);
                if is_disk {
                    let of_disk = answers.iter().filter(|one| one.disk == *row);
                    let count = of_disk.map(|one| one.sizes.len()).sum();
                    index::text(page, &terms::count(count, "question"));
                } else {
                    index::text(page, &self.summary(row));
                }
            });
        }
        for (_, title, text) in self.answers.tested() {
            let text = html::escape(&text);
            let _ = writeln!(page, "<h2>{title}</h2>\n<p>{text}</p>");
        }
        let _ = writeln!(
            page,
            r#"<p class="legend">{} They hold for fresh file systems and this kernel; the errors of the models were not varied. Verify on any machine: <code>fsdyno atlas verify WORK/DISK{}</code>.</p>"#,
            html::escape(&legend(answers)),
            html::escape(&self.option)
        );
        html::end(&mut page, "", assets, &["site.js"]);
        page.into_bytes()
    }
}

/// The name of a question.
fn question(answer: &Answer, at: &AnswerAtSize) -> String {
    format!("{}/{}/{}", answer.work, answer.disk, at.size)
}
