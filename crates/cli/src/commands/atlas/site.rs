//! `atlas site`: the pages of an atlas in a directory that only this command writes.

use super::{SHIPPED, SiteArgs, read};
use crate::commands::rendering;
use crate::commands::site::{Directory, Kind};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_report::site::of_atlas;
use std::path::Path;

const KIND: Kind = Kind {
    command: "fsdyno atlas site",
    marker: ".fsdyno-atlas-site",
    directories: &of_atlas::DIRECTORIES,
};

pub fn write(args: &SiteArgs) -> Result<Code, CliError> {
    let file = &args.atlas.file;
    let atlas = read(file)?;
    let option = match file.as_path() {
        path if path == Path::new(SHIPPED) => String::new(),
        path => format!(" --atlas {}", path.display()),
    };
    let mut directory = Directory::open(&args.directory, &KIND)?;
    let pages = of_atlas::pages(&atlas, &option, &rendering::options(false, true));
    for page in pages.map_err(CliError::failure)? {
        directory.write(&page)?;
    }
    directory.remove_others()?;
    let (questions, index) = (atlas.questions.len(), directory.index());
    let answer = format!(
        "The site has the answers to {questions} questions. Open this page:\n{}\n",
        index.display()
    );
    output::bytes(answer.as_bytes())?;
    Ok(Code::Ok)
}
