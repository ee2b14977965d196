//! `disk trace`: the block trace of a disk, entry by entry, as text or as CSV.

use super::args::TraceArgs;
use crate::exit::CliError;
use crate::output;
use fsdyno_disk::record::{Record, Records};
use fsdyno_disk::{Causes, Failure};
use fsdyno_model::Nanos;
use std::collections::HashMap;
use std::io::{self, BufReader, Write};

/// The columns of CSV; the columns of the causes follow them.
const COLUMNS: &str = "at_ns,what,order,kind,sector,sectors,fua,hash,took_ns,failed_sector,text";

pub fn trace(args: &TraceArgs) -> Result<(), CliError> {
    let path = args.file.display();
    let file = fsdyno_files::input::open(&args.file)
        .map_err(|error| CliError::usage(format!("cannot open {path}: {error}")))?;
    let broken = |error| CliError::failure(format!("{path}: {error}"));
    let records = Records::new(BufReader::new(file)).map_err(broken)?;
    let mut damage = None;
    let print = |out: &mut dyn Write| -> io::Result<()> {
        let mut printer = Printer {
            out,
            csv: args.csv,
            submitted: HashMap::new(),
        };
        printer.head()?;
        for record in records {
            match record {
                Ok(record) => printer.print(&record)?,
                // The entries before the error are complete and are printed.
                Err(error) => damage = Some(error),
            }
        }
        Ok(())
    };
    output::stream(print)?;
    damage.map_or(Ok(()), |error| Err(broken(error)))
}

struct Printer<'a> {
    out: &'a mut dyn Write,
    csv: bool,
    /// Submission times of the requests that have not completed, by order.
    submitted: HashMap<u64, Nanos>,
}

impl Printer<'_> {
    fn head(&mut self) -> io::Result<()> {
        if !self.csv {
            return Ok(());
        }
        write!(self.out, "{COLUMNS}")?;
        for cause in Causes::NAMES {
            write!(self.out, ",{cause}_ns")?;
        }
        writeln!(self.out)
    }

    fn print(&mut self, record: &Record) -> io::Result<()> {
        let latency = match record {
            Record::Submitted { at, order, .. } => {
                self.submitted.insert(*order, *at);
                None
            }
            Record::Completed { at, order, .. } => {
                let submitted = self.submitted.remove(order);
                submitted.map(|then| Nanos(at.0.saturating_sub(then.0)))
            }
            // Requests in flight at a power cut never complete.
            Record::PowerCut { .. } => {
                self.submitted.clear();
                None
            }
            _ => None,
        };
        if self.csv {
            self.row(record, latency)
        } else {
            writeln!(self.out, "{}", record.line(latency))
        }
    }

    /// Prints an entry as a row of CSV.
    fn row(&mut self, record: &Record, latency: Option<Nanos>) -> io::Result<()> {
        let out = &mut self.out;
        let number = |of: Option<u64>| of.map_or_else(String::new, |of| of.to_string());
        let rest = ",".repeat(Causes::NAMES.len());
        match record {
            Record::Submitted {
                at,
                order,
                request,
                hash,
            } => {
                let hash = hash.map_or_else(String::new, |hash| format!("{hash:016x}"));
                writeln!(
                    out,
                    "{},submitted,{order},{},{},{},{},{hash},,,{rest}",
                    at.0, request.kind, request.sector, request.sectors, request.fua
                )
            }
            Record::Payload { order, bytes } => {
                let length = bytes.len();
                writeln!(out, ",payload,{order},,,,,,,,{length} bytes{rest}")
            }
            Record::Completed {
                at,
                order,
                result,
                causes,
            } => {
                let latency = number(latency.map(|latency| latency.0));
                let failed = result.as_ref().err();
                let failed = number(failed.map(|Failure::Medium { sector }| *sector));
                write!(out, "{},completed,{order},,,,,,{latency},{failed},", at.0)?;
                for ns in causes.parts() {
                    write!(out, ",{ns}")?;
                }
                writeln!(out)
            }
            Record::Mark { at, text } => {
                let text = text.replace('"', "\"\"");
                writeln!(out, "{},mark,,,,,,,,,\"{text}\"{rest}", at.0)
            }
            Record::PowerCut { at, seed } => {
                writeln!(out, "{},cut,,,,,,,,,seed {seed}{rest}", at.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_disk::{Kind, Request};

    /// Prints a trace with a failed write, marks and a power cut.
    fn printed(csv: bool) -> String {
        let mut out = Vec::new();
        let mut printer = Printer {
            out: &mut out,
            csv,
            submitted: HashMap::new(),
        };
        printer.head().unwrap();
        let text = "phase \"a,b\"\x1b[2J".to_owned();
        let causes = Causes {
            seek: 1_000_000,
            transfer: 500_000,
            ..Causes::default()
        };
        for record in [
            Record::Mark { at: Nanos(7), text },
            Record::Submitted {
                at: Nanos(1_000_000_000),
                order: 3,
                request: Request::new(0, Kind::Write, 80, 8).with_fua(),
                hash: Some(0xabc),
            },
            Record::Payload {
                order: 3,
                bytes: vec![1; 4096].into(),
            },
            Record::Completed {
                at: Nanos(1_001_500_000),
                order: 3,
                result: Err(Failure::Medium { sector: 82 }),
                causes,
            },
            Record::PowerCut {
                at: Nanos(2_000_000_000),
                seed: 5,
            },
        ] {
            printer.print(&record).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_row_has_every_column_and_no_text_breaks_one() {
        let text = printed(true);
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[0].ends_with(
            "text,queue_ns,overhead_ns,seek_ns,rotation_ns,transfer_ns,flush_ns,cache_ns,fault_ns"
        ));
        let columns = rows[0].split(',').count();
        assert!(rows[1].contains("\"phase \"\"a,b\"\""), "{}", rows[1]);
        for row in &rows[2..] {
            assert_eq!(row.split(',').count(), columns, "{row}");
        }
        assert_eq!(
            rows[2],
            "1000000000,submitted,3,write,80,8,true,0000000000000abc,,,,,,,,,,,"
        );
        assert_eq!(
            rows[4],
            "1001500000,completed,3,,,,,,1500000,82,,0,0,1000000,0,500000,0,0,0"
        );
    }

    #[test]
    fn a_line_shows_the_duration_and_the_error_of_a_request() {
        let text = printed(false);
        assert!(text.contains("1.000000000       3 write        80 +8 fua 0000000000000abc\n"));
        let done =
            "done         1.50 ms: seek 1.00 ms, transfer 500 us; the medium failed at sector 82";
        assert!(text.contains(done), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
    }
}
