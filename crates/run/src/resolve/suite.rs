//! The built-in suites: plan files that a user can copy and change. A new suite is a file in
//! `data/suites/` and a line in [`ALL`].

use super::catalogue::Catalogue;
use super::contenders::ContenderParser;
use super::error::PlanFileError;
use super::planfile::PlanFile;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suite {
    /// Its name on the command line.
    pub name: &'static str,
    /// The text of its plan file.
    pub text: &'static str,
    /// The scale with which a comparison on a model disk takes some seconds; none if a run makes no
    /// such comparison.
    pub model_scale: Option<f64>,
}

pub const DEFAULT: &str = "quick";

/// All suites, in the order of lists.
pub static ALL: &[Suite] = &[
    Suite {
        name: DEFAULT,
        text: include_str!("../../data/suites/quick.toml"),
        model_scale: Some(0.02),
    },
    Suite {
        name: "mail",
        text: include_str!("../../data/suites/mail.toml"),
        model_scale: Some(0.05),
    },
    Suite {
        name: "web",
        text: include_str!("../../data/suites/web.toml"),
        model_scale: Some(0.1),
    },
    Suite {
        name: "photos",
        text: include_str!("../../data/suites/photos.toml"),
        model_scale: Some(0.2),
    },
    Suite {
        name: "build",
        text: include_str!("../../data/suites/build.toml"),
        model_scale: Some(0.5),
    },
    Suite {
        name: "database",
        text: include_str!("../../data/suites/database.toml"),
        model_scale: Some(0.05),
    },
    Suite {
        name: "containers",
        text: include_str!("../../data/suites/containers.toml"),
        model_scale: Some(0.2),
    },
    Suite {
        name: "atime",
        text: include_str!("../../data/suites/atime.toml"),
        model_scale: None,
    },
    Suite {
        name: "bonnie",
        text: include_str!("../../data/suites/bonnie.toml"),
        model_scale: None,
    },
    Suite {
        name: "bonnie-check",
        text: include_str!("../../data/suites/bonnie-check.toml"),
        model_scale: None,
    },
    Suite {
        name: "classic-2004",
        text: include_str!("../../data/suites/classic-2004.toml"),
        model_scale: None,
    },
    Suite {
        name: "classic-2008",
        text: include_str!("../../data/suites/classic-2008.toml"),
        model_scale: None,
    },
    Suite {
        name: "atime-2007",
        text: include_str!("../../data/suites/atime-2007.toml"),
        model_scale: None,
    },
    Suite {
        name: "bonnie-2001",
        text: include_str!("../../data/suites/bonnie-2001.toml"),
        model_scale: None,
    },
    Suite {
        name: "mongo-2001",
        text: include_str!("../../data/suites/mongo-2001.toml"),
        model_scale: None,
    },
];

pub fn find(name: &str) -> Option<&'static Suite> {
    ALL.iter().find(|suite| suite.name == name)
}

impl Suite {
    pub fn read(&self, catalogue: &Catalogue) -> Result<PlanFile, PlanFileError> {
        // A suite contains no paths, but a copy of it may.
        let parser = ContenderParser {
            base: Path::new("/"),
            lab: None,
            unchecked_options: false,
        };
        let path = format!("suite {}", self.name);
        PlanFile::parse(&path, self.text, parser, catalogue)
    }
}
