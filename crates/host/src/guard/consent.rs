//! The signatures that the user consents to erase, and the comparison with a device.

use super::{DeviceDescription, Identity};

/// The consent as the user writes it: `--erase 'IDENTITY[:SIG,SIG...]'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The device: its serial, a world-wide name, or a name in `/dev/disk/by-id`.
    pub identity: String,
    /// The types of what may be destroyed on it.
    pub signatures: Vec<String>,
    /// Whether it may be erased though fstab or crypttab names it.
    pub configured: bool,
}

impl Consent {
    /// Parses the short form. Identities may contain colons; the part after the last colon is first
    /// parsed as signatures, and [`release`](super::release) tries the other reading where that
    /// matches a device.
    pub fn parse(text: &str) -> Self {
        let (identity, signatures) = text.rsplit_once(':').unwrap_or((text, ""));
        Self {
            identity: identity.trim().to_owned(),
            signatures: signatures
                .split(',')
                .map(|kind| kind.trim().to_owned())
                .filter(|kind| !kind.is_empty())
                .collect(),
            configured: false,
        }
    }

    /// Reads the values of `--erase` and of `--erase-fstab IDENTITY`; the identity of the latter is one
    /// of the former, else it is returned as the error.
    pub fn parse_all(erase: &[String], configured: &[String]) -> Result<Vec<Self>, String> {
        let mut consents: Vec<Self> = erase.iter().map(|text| Self::parse(text)).collect();
        for identity in configured {
            let mut found = false;
            for consent in &mut consents {
                if consent.identity == *identity || consent.as_typed() == *identity {
                    consent.configured = true;
                    found = true;
                }
            }
            if !found {
                return Err(identity.clone());
            }
        }
        Ok(consents)
    }

    /// The identity, if its last part was parsed as signatures.
    fn as_typed(&self) -> String {
        format!("{}:{}", self.identity, self.signatures.join(","))
    }

    /// The signatures acknowledged for this device, if the consent is for it.
    pub(super) fn for_device(&self, identity: &Identity) -> Option<&[String]> {
        let names = identity.names();
        if names.contains(&self.identity.as_str()) {
            return Some(&self.signatures);
        }
        names.contains(&self.as_typed().as_str()).then_some(&[])
    }
}

/// Whether a consent covers what fstab and crypttab name.
pub(super) fn covers_configured(identity: &Identity, consents: &[Consent]) -> bool {
    let mut covering = consents.iter().filter(|consent| consent.configured);
    covering.any(|consent| consent.for_device(identity).is_some())
}

/// The signatures a consent acknowledges for this device, or why there is no consent.
pub(super) fn consent_for<'a>(
    identity: &Identity,
    named: &[Identity],
    consents: &'a [Consent],
) -> Result<&'a [String], String> {
    let given = consents
        .iter()
        .find_map(|consent| Some((consent, consent.for_device(identity)?)));
    if let Some((consent, kinds)) = given {
        // Cheap adapters have the same serial for all their disks.
        let answering = named
            .iter()
            .filter(|other| consent.for_device(other).is_some())
            .count();
        if answering > 1 {
            return Err(format!(
                "more than one of the devices matches `{}`; name it by one of {}",
                consent.identity,
                identity.names().join(", ")
            ));
        }
        return Ok(kinds);
    }
    let stray: Vec<&str> = consents
        .iter()
        .filter(|consent| {
            named
                .iter()
                .all(|other| consent.for_device(other).is_none())
        })
        .map(|consent| consent.identity.as_str())
        .collect();
    if stray.is_empty() {
        return Err(format!("no --erase names it ({})", identity.describe()));
    }
    Err(format!(
        "`{}` is not its identity, which is `{}` ({})",
        stray.join("`, `"),
        identity.name_to_type(),
        identity.describe()
    ))
}

/// The flag that consents to everything that was found, quoted for a shell.
pub(super) fn flag(description: &DeviceDescription) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for signature in &description.signatures {
        if !kinds.contains(&signature.kind.as_str()) {
            kinds.push(&signature.kind);
        }
    }
    let mut text = description.identity.name_to_type().to_owned();
    if !kinds.is_empty() {
        text = format!("{text}:{}", kinds.join(","));
    }
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let mut flags = format!("--erase {}", quoted(&text));
    if !description.configured.is_empty() {
        let identity = quoted(description.identity.name_to_type());
        flags = format!("{flags} --erase-fstab {identity}");
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::super::identity::tests::disk;
    use super::*;

    #[test]
    fn identities_may_have_colons() {
        let consent = Consent::parse("usb-Stick-0:0");
        let mut stick = disk("sdc", None);
        stick.by_id = vec!["usb-Stick-0:0".into()];
        assert_eq!(consent.for_device(&stick), Some(&[][..]));
        let both = Consent::parse("usb-Stick-0:0:vfat");
        assert_eq!(both.for_device(&stick), Some(&["vfat".to_owned()][..]));
        assert_eq!(consent.for_device(&disk("sdd", None)), None);
    }

    #[test]
    fn one_serial_for_two_disks_is_not_enough() {
        let named = [disk("sda", Some("0000")), disk("sdb", Some("0000"))];
        let consents = [Consent::parse("0000")];
        let reason = consent_for(&named[0], &named, &consents).unwrap_err();
        assert!(reason.contains("more than one"), "{reason}");
    }
}
