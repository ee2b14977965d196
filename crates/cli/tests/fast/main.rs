//! Tests of the program that need neither root nor another kernel.

#[path = "../support/mod.rs"]
mod support;

mod apps;
mod atlas;
mod bcachefs;
mod bench;
mod chart;
mod compare;
mod completion;
mod contents;
mod daily;
mod disk_profiles;
mod documented_plan;
mod documents;
mod escapes;
mod explorations;
mod extending;
mod fio_jobs;
mod history;
mod inputs;
mod judged;
mod mistakes;
mod own_tables;
mod site;
mod stores;
mod ufs;
mod whole_program;
