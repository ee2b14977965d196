//! Runs a cell somewhere and streams its events back.
