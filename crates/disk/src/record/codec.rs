//! Encoding of an entry. Numbers are LEB128, as postcard writes them. Times are differences to the previous entry, which may
//! be negative (zigzag).

use super::Record;
use crate::request::{Causes, Failure, Kind, Request};
use fsdyno_model::Nanos;

const SUBMITTED: u8 = 1;
const PAYLOAD: u8 = 2;
const COMPLETED: u8 = 3;
const MARK: u8 = 4;
const POWER_CUT: u8 = 5;

/// Bits of a submission in addition to its kind.
const FUA: u64 = 8;
const HASHED: u64 = 16;

fn put(into: &mut Vec<u8>, number: u64) {
    let mut bytes = [0; 10];
    let bytes = postcard::to_slice(&number, &mut bytes);
    into.extend_from_slice(bytes.expect("64 bits are at most ten bytes"));
}

fn zigzag(number: u64) -> u64 {
    // From a difference modulo 2^64.
    (number << 1) ^ (0_u64.wrapping_sub(number >> 63))
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ 0_u64.wrapping_sub(number & 1)
}

/// Encoded entries, for writing or reading.
#[derive(Debug, Default)]
pub(super) struct Codec {
    /// Time of the previous entry.
    at: u64,
}

impl Codec {
    fn put_moment(&mut self, into: &mut Vec<u8>, at: Nanos) {
        put(into, zigzag(at.0.wrapping_sub(self.at)));
        self.at = at.0;
    }

    pub fn put(&mut self, into: &mut Vec<u8>, record: &Record) {
        match record {
            Record::Submitted {
                at,
                order,
                request,
                hash,
            } => {
                into.push(SUBMITTED);
                self.put_moment(into, *at);
                put(into, *order);
                let kind = Kind::ALL.iter().position(|kind| *kind == request.kind);
                let mut bits = kind.unwrap_or_default() as u64;
                bits |= if request.fua { FUA } else { 0 };
                bits |= if hash.is_some() { HASHED } else { 0 };
                put(into, bits);
                put(into, request.sector);
                put(into, request.sectors);
                if let Some(hash) = hash {
                    into.extend_from_slice(&hash.to_le_bytes());
                }
            }
            Record::Payload { order, bytes } => {
                into.push(PAYLOAD);
                put(into, *order);
                put(into, bytes.len() as u64);
                into.extend_from_slice(bytes);
            }
            Record::Completed {
                at,
                order,
                result,
                causes,
            } => {
                into.push(COMPLETED);
                self.put_moment(into, *at);
                put(into, *order);
                // The failed sector, counted from 1.
                put(
                    into,
                    match result {
                        Ok(()) => 0,
                        Err(Failure::Medium { sector }) => sector + 1,
                    },
                );
                // A bit for each present cause, then the causes.
                let parts = causes.parts();
                let there = parts.iter().enumerate();
                let bits = there.fold(0, |bits, (at, ns)| bits | u64::from(*ns > 0) << at);
                put(into, bits);
                for ns in parts.into_iter().filter(|ns| *ns > 0) {
                    put(into, ns);
                }
            }
            Record::Mark { at, text } => {
                into.push(MARK);
                self.put_moment(into, *at);
                put(into, text.len() as u64);
                into.extend_from_slice(text.as_bytes());
            }
            Record::PowerCut { at, seed } => {
                into.push(POWER_CUT);
                self.put_moment(into, *at);
                into.extend_from_slice(&seed.to_le_bytes());
            }
        }
    }

    /// Decodes the next entry from the front of `from`. Returns none if it is invalid.
    pub fn take(&mut self, from: &mut &[u8]) -> Option<Record> {
        let [what] = *take(from, 1)? else { return None };
        Some(match what {
            SUBMITTED => {
                let (at, order, bits) = (self.moment(from)?, number(from)?, number(from)?);
                let kind = *Kind::ALL.get(usize::try_from(bits & 7).ok()?)?;
                let (sector, sectors) = (number(from)?, number(from)?);
                let request = Request {
                    fua: bits & FUA != 0,
                    ..Request::new(0, kind, sector, sectors)
                };
                let hash = if bits & HASHED == 0 {
                    None
                } else {
                    Some(fixed(from)?)
                };
                Record::Submitted {
                    at,
                    order,
                    request,
                    hash,
                }
            }
            PAYLOAD => {
                let (order, length) = (number(from)?, number(from)?);
                let bytes = take(from, usize::try_from(length).ok()?)?.into();
                Record::Payload { order, bytes }
            }
            COMPLETED => {
                let (at, order) = (self.moment(from)?, number(from)?);
                let result = match number(from)?.checked_sub(1) {
                    None => Ok(()),
                    Some(sector) => Err(Failure::Medium { sector }),
                };
                let bits = number(from)?;
                let mut parts = [0; 8];
                for (at, part) in parts.iter_mut().enumerate() {
                    if bits >> at & 1 == 1 {
                        *part = number(from)?;
                    }
                }
                Record::Completed {
                    at,
                    order,
                    result,
                    causes: Causes::from_parts(parts),
                }
            }
            MARK => {
                let at = self.moment(from)?;
                let length = usize::try_from(number(from)?).ok()?;
                let text = String::from_utf8(take(from, length)?.to_vec()).ok()?;
                Record::Mark { at, text }
            }
            POWER_CUT => Record::PowerCut {
                at: self.moment(from)?,
                seed: fixed(from)?,
            },
            _ => return None,
        })
    }

    fn moment(&mut self, from: &mut &[u8]) -> Option<Nanos> {
        self.at = self.at.wrapping_add(unzigzag(number(from)?));
        Some(Nanos(self.at))
    }
}

fn take<'a>(from: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(taken)
}

fn fixed(from: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(from, 8)?.try_into().ok()?))
}

fn number(from: &mut &[u8]) -> Option<u64> {
    let (number, rest) = postcard::take_from_bytes(from).ok()?;
    *from = rest;
    Some(number)
}
