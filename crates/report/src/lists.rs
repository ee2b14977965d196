//! Lists that keep the order of their items.

/// The distinct items.
pub fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}

/// The values of each key.
pub fn by_key<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The texts that apply.
pub fn applicable<'a>(all: impl IntoIterator<Item = (bool, &'a str)>) -> Vec<&'a str> {
    let applicable = all.into_iter().filter(|(applies, _)| *applies);
    applicable.map(|(_, text)| text).collect()
}
