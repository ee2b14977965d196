//! What is asked, and the plan that is made of it; what is asked wrongly, and what is said.

mod asking;
mod bad_requests;
mod broken_plans;
mod labs;
mod plan_files;
mod programs;
mod requests;
mod states;
mod suites;
