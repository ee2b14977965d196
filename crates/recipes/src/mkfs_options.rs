//! Parses the user's words on a mkfs command line in the way of that mkfs.
//!
//! mkfs runs as root and writes to any device on its command line. The device guard has checked
//! only the contender's devices. So a word that mkfs would use as another device, an input file or
//! an output file is an error before anything runs.

/// Option grammar of a mkfs, as for `getopt_long(3)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MkfsGrammar {
    /// Letters of options with a value.
    pub short_with_value: &'static str,
    /// Long names of options with a value.
    pub long_with_value: &'static [&'static str],
    /// Options (letter or long name) that are rejected, with the reason.
    pub refused: &'static [(&'static str, &'static str)],
    /// Prefixes of comma-separated value parts that name a device or a file.
    pub refused_values: &'static [&'static str],
}

/// A rejected word with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub word: String,
    pub why: String,
}

/// One option as mkfs parses it.
struct Given<'a> {
    /// Letter or long name.
    name: String,
    value: Option<&'a str>,
    word: &'a str,
}

impl MkfsGrammar {
    /// A mkfs program without options.
    pub const NO_OPTIONS: Self = Self {
        short_with_value: "",
        long_with_value: &[],
        refused: &[],
        refused_values: &[],
    };

    /// Letters and long names of the options in `words`.
    pub(crate) fn given(&self, words: &[String]) -> Vec<String> {
        let (options, _) = self.read(words);
        options.into_iter().map(|option| option.name).collect()
    }

    /// Checks that all words affect only the contender's devices.
    pub(crate) fn judge(&self, words: &[String]) -> Result<(), Refusal> {
        let refuse = |word: &str, why: &str| {
            Err(Refusal {
                word: word.to_owned(),
                why: why.to_owned(),
            })
        };
        if let Some(word) = words.iter().find(|word| word.contains('/')) {
            return refuse(
                word,
                "only the devices of the contender may be named to mkfs",
            );
        }
        let (options, alone) = self.read(words);
        if let Some(word) = alone.first() {
            return refuse(
                word,
                "it belongs to no option, so mkfs would take it for a device; write -oVALUE or \
                 --option=VALUE as one word where it is the value of one",
            );
        }
        for option in &options {
            let refused = self.refused.iter().find(|(name, _)| {
                // getopt_long accepts an unambiguous prefix of a long name.
                *name == option.name
                    || (option.name.len() > 1 && name.starts_with(option.name.as_str()))
            });
            if let Some((_, why)) = refused {
                return refuse(option.word, why);
            }
            let parts = option.value.unwrap_or_default().split(',');
            for part in parts.map(str::trim_start) {
                if self.refused_values.iter().any(|v| part.starts_with(v)) {
                    return refuse(part, "it names another device or file to mkfs");
                }
            }
        }
        Ok(())
    }

    /// Splits `words` into options and other words.
    fn read<'a>(&self, words: &'a [String]) -> (Vec<Given<'a>>, Vec<&'a str>) {
        let (mut options, mut alone) = (Vec::new(), Vec::new());
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None if self.long_with_value.contains(&long) => (long, words.next()),
                    None => (long, None),
                };
                options.push(Given {
                    name: name.to_owned(),
                    value,
                    word,
                });
                continue;
            }
            match word.strip_prefix('-') {
                Some(letters) if !letters.is_empty() && letters != "-" => {
                    for (at, letter) in letters.char_indices() {
                        let takes = self.short_with_value.contains(letter);
                        let attached = &letters[at + letter.len_utf8()..];
                        let value = match (takes, attached) {
                            (false, _) => None,
                            (true, "") => words.next(),
                            (true, attached) => Some(attached),
                        };
                        options.push(Given {
                            name: letter.to_string(),
                            value,
                            word,
                        });
                        if takes {
                            break;
                        }
                    }
                }
                _ => alone.push(word),
            }
        }
        (options, alone)
    }
}
