//! The formats on fixed runs, including hostile input.

mod advice;
mod answer;
mod atlas;
mod charts;
mod compare;
mod comparison;
mod crash;
mod data;
mod disk_faults;
mod disks;
mod exploration;
mod explored;
mod extents;
mod faults;
mod first_screen;
mod fixture;
mod glance;
mod goldens;
mod history;
mod judged;
mod labs;
mod one_draw;
mod own_tables;
mod page;
mod questions;
mod renders;
mod reported;
mod reruns;
mod robustness;
mod scaling;
mod schemas;
mod site;
mod terminal;
mod user_code;
mod warnings;
mod why;

use fsdyno_model::ResultSet;
use fsdyno_report::{Format, Options, render};

fn text(set: &ResultSet, format: Format, options: &Options) -> String {
    String::from_utf8(render(set, format, options).unwrap()).unwrap()
}

/// The first table in the section of a page with this id.
fn table_of<'p>(page: &'p str, id: &str) -> &'p str {
    let section = format!("<section id=\"{id}\">");
    let (_, section) = page.split_once(&section).unwrap();
    let (_, table) = section.split_once("<table").unwrap();
    table.split_once("</table>").unwrap().0
}

fn wide(width: usize) -> Options {
    Options {
        width,
        long: true,
        ..Options::default()
    }
}
