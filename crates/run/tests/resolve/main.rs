//! Settings and the plans they resolve to; wrong settings and their errors.

mod bad_requests;
mod broken_plans;
mod labs;
mod plan_files;
mod programs;
mod requests;
mod states;
mod suites;
mod support;
