//! The files of a family: their sizes and groups, and the order of requests. All are drawn from a
//! seed before the clock starts, so that each run does the same.

use super::{Family, Parameters};
use fsdyno_datasets::seed::{Seed, Spread};
use fsdyno_datasets::sizes::LogNormal;
use fsdyno_model::random::shuffle;

/// Headers that a source includes. Builds of the Linux kernel read hundreds; most small programs
/// read some tens.
pub(super) const INCLUDES: usize = 30;
/// The bytes of a page of a table and of a record of its log (`PostgreSQL`: `BLCKSZ`, `XLOG_BLCKSZ`).
pub(super) const PAGE_LENGTH: usize = 8192;
pub(super) const PAGE: u64 = PAGE_LENGTH as u64;
/// The bytes of a log file, which is used again from its beginning (`PostgreSQL`: `wal_segment_size`).
pub(super) const LOG: u64 = 16 << 20;
/// The bytes of a thumbnail of 256 pixels.
pub(super) const THUMBNAIL: u64 = 24 << 10;

/// The sizes of messages: a mean of 13 KB, as the 16 KB of Filebench's `varmail`.
const MESSAGE: LogNormal = LogNormal::new(3500.0, 1.63, 500, 3_000_000);
/// The body of the distribution of web files in SURGE (Barford and Crovella, 1998).
const PAGE_OF_A_SITE: LogNormal = LogNormal::new(11_580.0, 1.318, 100, 2_000_000);
/// JPEG files of cameras with 12 to 24 megapixels.
const PHOTO: LogNormal = LogNormal::new(5e6, 0.35, 1_500_000, 15_000_000);
/// C sources and headers, as in the generated dataset of sources.
const SOURCE: LogNormal = LogNormal::new(8000.0, 1.1, 200, 300_000);
const HEADER: LogNormal = LogNormal::new(2500.0, 1.2, 100, 100_000);
/// Files of images: a median of 4 KB and a mean of 31 KB (Zhao and others, "Large-Scale Analysis
/// of the Docker Hub Dataset", 2019).
const LAYER_FILE: LogNormal = LogNormal::new(4096.0, 2.0, 1, 8_000_000);

/// A file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub bytes: u64,
    /// Its mailbox, its directory, or its layer.
    pub group: usize,
}

/// All files of a family, and the requests for them.
#[derive(Debug)]
pub(super) struct Inventory {
    pub items: Vec<Item>,
    /// Headers of sources; empty in other families.
    pub headers: Vec<Item>,
    /// The numbers of requested items, headers or pages, in order; of mail, all messages by mailbox.
    pub requests: Vec<usize>,
}

impl Inventory {
    pub fn of(family: Family, parameters: &Parameters) -> Self {
        let seed = Seed::new(1).part(family.home().to_str().unwrap_or_default());
        let Parameters { items, groups, .. } = *parameters;
        let in_order = |files_per_group| move |number: usize| number / files_per_group;
        let at_random = |seed: Seed| move |number: usize| below(seed, number, groups);
        let none = Self {
            items: Vec::new(),
            headers: Vec::new(),
            requests: Vec::new(),
        };
        match family {
            Family::Mail => {
                let messages = draw(&MESSAGE, seed, items, at_random(seed.part("mailbox")));
                let mut requests: Vec<usize> = (0..items).collect();
                requests.sort_by_key(|number| messages[*number].group);
                Self {
                    items: messages,
                    requests,
                    ..none
                }
            }
            Family::Web => Self {
                items: draw(&PAGE_OF_A_SITE, seed, items, in_order(100)),
                requests: by_popularity(seed.part("requests"), items, parameters.requests),
                ..none
            },
            Family::Photos => Self {
                items: draw(&PHOTO, seed, items, in_order(50)),
                ..none
            },
            Family::Build => {
                let headers = (items / 4).max(1);
                Self {
                    items: draw(&SOURCE, seed, items, in_order(20)),
                    headers: draw(&HEADER, seed.part("headers"), headers, in_order(50)),
                    requests: by_popularity(seed.part("includes"), headers, items * INCLUDES),
                }
            }
            Family::Database => {
                let pages = usize::try_from(parameters.size / PAGE).unwrap_or(usize::MAX);
                let page = |number| below(seed, number, pages);
                Self {
                    requests: (0..parameters.requests).map(page).collect(),
                    ..none
                }
            }
            Family::Containers => Self {
                items: draw(&LAYER_FILE, seed, items, |number| number * groups / items),
                // Each container requests a quarter of the files.
                requests: by_popularity(
                    seed.part("requests"),
                    items,
                    parameters.requests * items.div_ceil(4),
                ),
                ..none
            },
        }
    }

    /// The files, for the engine that accesses none.
    pub fn bytes(&self) -> u64 {
        self.items.iter().map(|item| item.bytes).sum()
    }

    /// An upper bound of the space on a device.
    pub fn space(&self, parameters: &Parameters) -> u64 {
        let taken = |item: &Item| item.bytes.next_multiple_of(4096) + 3072;
        let files: u64 = self.items.iter().chain(&self.headers).map(taken).sum();
        let mean = files / (self.items.len() as u64).max(1);
        let requested = parameters.requests as u64 * self.items.len().div_ceil(4) as u64;
        // Objects are three times as large as sources; a container copies some of its files.
        let more = if self.headers.is_empty() {
            requested.min(self.requests.len() as u64 / 4) * mean
        } else {
            7 * files
        };
        let table = parameters.size + LOG;
        files + more + table + (self.items.len() as u64) * (THUMBNAIL + 4096)
    }
}

fn below(seed: Seed, number: usize, limit: usize) -> usize {
    usize::try_from(seed.at(number as u64).below(limit as u64)).unwrap_or(0)
}

/// Files with these sizes.
fn draw(sizes: &LogNormal, seed: Seed, count: usize, group: impl Fn(usize) -> usize) -> Vec<Item> {
    let mut spread = Spread::new(seed);
    let item = |number| Item {
        bytes: sizes.draw(&mut spread),
        group: group(number),
    };
    (0..count).map(item).collect()
}

/// Requests for some of `items`, whose popularity follows Zipf's law with exponent 1, as in SURGE:
/// the second is requested half as often as the first. The ranks are spread over all items.
fn by_popularity(seed: Seed, items: usize, requests: usize) -> Vec<usize> {
    let mut sum = 0.0;
    let mut cumulative = Vec::with_capacity(items);
    for rank in 1..=items {
        sum += 1.0 / rank as f64;
        cumulative.push(sum);
    }
    let mut ranked: Vec<usize> = (0..items).collect();
    let (ranks, mut place) = (seed.part("ranks"), items as u64);
    shuffle(&mut ranked, || {
        place -= 1;
        ranks.at(place).value()
    });
    let request = |number: usize| {
        let unit = (seed.at(number as u64).value() >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = cumulative.partition_point(|until| *until <= unit * sum);
        ranked[rank.min(items - 1)]
    };
    (0..requests).map(request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn popular_files_are_requested_most_and_all_are_in_range() {
        let requests = by_popularity(Seed::new(3), 1000, 20_000);
        let mut counts = vec![0; 1000];
        for request in requests {
            counts[request] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // Of 7.49 (the harmonic number of 1000) the first has 1, the first ten have 2.93.
        assert!((2300..3000).contains(&counts[0]), "{}", counts[0]);
        let ten: i32 = counts[..10].iter().sum();
        assert!((7300..8400).contains(&ten), "{ten}");
        assert_eq!(by_popularity(Seed::new(3), 1, 3), [0; 3]);
    }

    #[test]
    fn mean_sizes_are_those_of_the_sources() {
        let mean = |family: Family| {
            let parameters = Parameters::read(family, &std::collections::BTreeMap::new());
            let inventory = Inventory::of(family, &parameters);
            inventory.bytes() / inventory.items.len() as u64
        };
        assert!((11_000..16_000).contains(&mean(Family::Mail)));
        assert!((24_000..30_000).contains(&mean(Family::Web)));
        assert!((22_000..35_000).contains(&mean(Family::Containers)));
        assert!((4_900_000..5_700_000).contains(&mean(Family::Photos)));
    }
}
