//! The only SQL: record and query runs.
