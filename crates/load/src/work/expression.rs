//! Numbers that follow from the parameters of a workload: `sources / 4`.

use std::collections::BTreeMap;

/// The values of parameters, by their names.
pub type Values = BTreeMap<String, u64>;

/// The value of sums, products and quotients of whole numbers and parameters. Quotients are rounded
/// down.
pub(super) fn evaluate(text: &str, values: &Values) -> Result<u64, String> {
    let mut reader = Reader {
        rest: text,
        values,
        depth: 0,
    };
    let value = reader.sum().and_then(|value| {
        let rest = reader.rest.trim();
        rest.is_empty()
            .then_some(value)
            .ok_or_else(|| format!("`{rest}` is too much"))
    });
    value.map_err(|reason| {
        let names: Vec<&str> = values.keys().map(String::as_str).collect();
        let known = if names.is_empty() {
            "there are no parameters".to_owned()
        } else {
            format!("parameters are {}", names.join(", "))
        };
        format!("`{text}` is no number: {reason}; {known}")
    })
}

struct Reader<'a> {
    rest: &'a str,
    values: &'a Values,
    depth: u32,
}

impl<'a> Reader<'a> {
    /// The next sign, if it is one of these.
    fn sign(&mut self, signs: &[char]) -> Option<char> {
        let rest = self.rest.trim_start();
        let found = rest.chars().next().filter(|c| signs.contains(c))?;
        self.rest = &rest[1..];
        Some(found)
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
        let (word, rest) = rest.split_at(end.unwrap_or(rest.len()));
        self.rest = rest;
        word
    }

    fn sum(&mut self) -> Result<u64, String> {
        let mut sum = self.product()?;
        while let Some(sign) = self.sign(&['+', '-']) {
            let next = self.product()?;
            sum = match sign {
                '+' => sum.saturating_add(next),
                _ => sum.saturating_sub(next),
            };
        }
        Ok(sum)
    }

    fn product(&mut self) -> Result<u64, String> {
        let mut product = self.value()?;
        while let Some(sign) = self.sign(&['*', '/']) {
            let next = self.value()?;
            product = match sign {
                '*' => product.saturating_mul(next),
                _ => product
                    .checked_div(next)
                    .ok_or_else(|| "it divides by 0".to_owned())?,
            };
        }
        Ok(product)
    }

    fn value(&mut self) -> Result<u64, String> {
        if self.sign(&['(']).is_some() {
            self.depth += 1;
            if self.depth > 16 {
                return Err("it has too many brackets".to_owned());
            }
            let sum = self.sum()?;
            let closed = self.sign(&[')']);
            return closed
                .map(|_| sum)
                .ok_or_else(|| "a `)` is missing".to_owned());
        }
        let word = self.word();
        match (word.parse(), self.values.get(word)) {
            (Ok(number), _) | (_, Some(&number)) => Ok(number),
            _ if word.is_empty() => Err("a number is missing".to_owned()),
            _ => Err(format!("`{word}` is no parameter")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_from_parameters() {
        let values = Values::from([("files".to_owned(), 10), ("each".to_owned(), 3)]);
        for (text, expected) in [
            ("7", 7),
            ("files", 10),
            ("files / 4 * 2", 4),
            ("each * ((files + 3) / 4) - 1", 8),
        ] {
            assert_eq!(evaluate(text, &values), Ok(expected), "{text}");
        }
        for (text, expected) in [
            ("", "a number is missing"),
            ("files / 0", "divides by 0"),
            ("(files", "a `)` is missing"),
            ("file", "`file` is no parameter; parameters are each, files"),
            ("files 2", "`2` is too much"),
        ] {
            let error = evaluate(text, &values).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
