//! `fsdyno disk`: list, show and check profiles, and refuse wrong ones.

use crate::support::Home;

#[test]
fn every_profile_is_listed_and_its_printed_file_is_a_valid_profile() {
    let home = Home::new();
    let output = home.fsdyno(&["disk", "list"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let wide = output.out.lines().any(|line| line.chars().count() > 80);
    assert!(!wide, "{}", output.out);
    let json = home.fsdyno(&["disk", "list", "--json"]);
    let profiles: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let profiles = profiles.as_array().unwrap();
    assert!(profiles.len() >= 8);
    for profile in profiles {
        let name = profile["name"].as_str().unwrap();
        assert!(output.out.contains(name), "{name}: {}", output.out);
        let shown = home.fsdyno(&["disk", "show", name]);
        assert_eq!(shown.code, Some(0), "{name}: {}", shown.err);
        let file = home.path("mine.toml");
        std::fs::write(&file, &shown.out).unwrap();
        let again = home.fsdyno(&["disk", "show", file.to_str().unwrap(), "--json"]);
        assert_eq!(again.code, Some(0), "{name}: {}", again.err);
        let again: serde_json::Value = serde_json::from_str(&again.out).unwrap();
        assert_eq!(again["name"], "mine");
        assert_eq!(again["profile"]["title"], profile["title"]);
    }
}

#[test]
fn a_profile_passes_if_it_matches_its_data_sheet_and_fails_if_not() {
    let home = Home::new();
    let output = home.fsdyno(&["disk", "check", "nvme"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(output.out.contains("within 3 %"), "{}", output.out);
    let text = home.fsdyno(&["disk", "show", "nvme"]).out;
    let slower = text.replace("read_us = 35.8", "read_us = 45.8");
    assert_ne!(slower, text);
    let file = home.path("slower.toml");
    std::fs::write(&file, slower).unwrap();
    let path = file.to_str().unwrap();
    let output = home.fsdyno(&["disk", "check", path]);
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    assert!(output.out.contains("random_read_us"), "{}", output.out);
    let output = home.fsdyno(&["disk", "check", path, "--json"]);
    let checked: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(
        (output.code, &checked["check"]["agrees"]),
        (Some(1), &false.into())
    );
}

#[test]
fn a_seek_curve_is_fitted_and_an_invalid_one_is_refused() {
    let home = Home::new();
    let file = home.path("measured.seek");
    let line = |n: u32| {
        let distance = n * n * 4;
        format!("{distance}, {}\n", 1.5 + 0.1 * f64::from(distance).sqrt())
    };
    let text: String = (1..=30).map(line).collect();
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let output = home.fsdyno(&["disk", "check", "--seek-curve", path]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.out.contains("0 beyond 10 %"), "{}", output.out);
    std::fs::write(&file, "nothing\n").unwrap();
    let output = home.fsdyno(&["disk", "check", "--seek-curve", path]);
    assert_eq!(output.code, Some(2), "{}", output.out);
    assert!(
        output.err.contains("a comma, and milliseconds"),
        "{}",
        output.err
    );
    let output = home.fsdyno(&["disk", "check"]);
    assert_eq!(output.code, Some(2), "{}", output.out);
}

#[test]
fn an_invalid_profile_is_refused_with_a_remedy() {
    let home = Home::new();
    let file = home.path("mine.toml");
    let text = home.fsdyno(&["disk", "show", "laptop-4200-2004"]).out;
    let mine = file.to_str().unwrap();
    for (from, to, words) in [
        ("rpm = 4200\n", "rmp = 4200\n", "unknown field `rmp`"),
        ("rpm = 4200\n", "rpm = 0\n", "`hdd.rpm` cannot be 0"),
        (
            "capacity = \"40GB\"",
            "capacity = -1",
            "a size is not negative",
        ),
    ] {
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
        let output = home.fsdyno(&["disk", "show", mine]);
        assert_eq!(output.code, Some(2), "{to}: {}", output.out);
        assert!(output.err.contains(words), "{to}: {}", output.err);
    }
    let output = home.fsdyno(&["disk", "check", "sata-2009"]);
    assert_eq!(output.code, Some(2), "{}", output.out);
    assert!(
        output.err.contains("did you mean sata-2008"),
        "{}",
        output.err
    );
}
