//! Workload files, personalities of Filebench and job files of fio: what is refused is refused at a
//! place within the text, and a translation is a workload.

use fsdyno_load::work::{Work, filebench, fio};

pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Err(error) = text.parse::<Work>() {
        assert!(text.get(error.span.clone()).is_some(), "{error:?}");
    }
    for translate in [filebench::translate, fio::translate] {
        match translate(text) {
            Ok(translated) => assert!(translated.parse::<Work>().is_ok(), "{translated}"),
            Err(error) => assert!(text.get(error.span.clone()).is_some(), "{error:?}"),
        }
    }
}
