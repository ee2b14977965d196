//! The conductor: plans, order, resume, stop rules, events.
