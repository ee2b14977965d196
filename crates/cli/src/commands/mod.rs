//! The commands, one file each.

pub mod advise;
pub mod age;
pub mod bisect;
pub mod chart;
pub mod ci;
pub mod clean;
pub mod cluster;
pub mod compare;
pub mod consent;
pub mod cpu;
pub mod crash;
pub mod disk;
pub mod doctor;
pub mod guest;
pub mod history;
pub mod jobs;
pub mod lab;
pub mod list;
pub mod make;
pub mod measuring;
pub mod merge;
pub mod phase;
pub mod published;
pub mod record;
pub mod rendering;
pub mod report;
pub mod rerun;
pub mod run;
pub mod runs;
pub mod selftest;
pub mod series;
pub mod show;
pub mod site;

pub mod ufs;
pub mod why;
