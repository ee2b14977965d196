//! Contenders as they are typed: a list is read or refused, and the label of each contender is
//! read back to the same value.

use fsdyno_model::ContenderSpec;

pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let kind_of = &fsdyno_recipes::kind_of;
    let Ok(all) = ContenderSpec::parse_list(text, kind_of) else {
        return;
    };
    for typed in all {
        let _ = fsdyno_recipes::validate(&typed.contender);
        let _ = fsdyno_recipes::check_options(&typed.contender);
        let label = &typed.contender.label;
        let again = ContenderSpec::parse(label, kind_of);
        assert_eq!(again.as_ref(), Ok(&typed), "{label}");
    }
}
