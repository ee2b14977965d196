//! The definition of settings. From one field, clap derives the flag, serde the plan key, and
//! schemars the schema. This module adds defaults, checks and layers.

use crate::resolve::ConfigError;
use fsdyno_model::units::percent;
use fsdyno_model::{Bytes, CopyMethod, DiskTime, ErrorRate, Fill, KernelChoice, LabChoice, Nanos};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Defines a struct of settings. A field may have `= DEFAULT`, the value of its plan key if no
/// layer sets it. It may also have `if CHECK`, a function that refuses values.
macro_rules! settings {
    (
        $(#[$outer:meta])*
        pub struct $name:ident {
            $(
                $(#[$attribute:meta])*
                pub $field:ident: $type:ty $(= $default:literal)? $(, if $check:path)?;
            )*
        }
    ) => {
        $(#[$outer])*
        #[derive(
            Debug, Clone, Default, PartialEq, clap::Args, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[$attribute])*
                pub $field: $type,
            )*
        }

        impl $name {
            /// The fixed default of each setting that has one, in the syntax of its plan key.
            pub const DEFAULTS: &'static [(&'static str, &'static str)] =
                &[$($((stringify!($field), stringify!($default)),)?)*];

            /// These settings; those that are not set come from `lower`.
            #[must_use]
            pub fn over(self, lower: Self) -> Self {
                Self { $($field: $crate::resolve::settings::Setting::over(self.$field, lower.$field),)* }
            }

            /// Whether the setting of that name is set.
            pub fn sets(&self, name: &str) -> bool {
                match name {
                    $(stringify!($field) => $crate::resolve::settings::Setting::is_set(&self.$field),)*
                    _ => false,
                }
            }

            /// The first setting with an invalid value, and the error.
            pub(crate) fn check(
                &self,
                catalogue: &$crate::resolve::Catalogue,
            ) -> Result<(), (&'static str, ConfigError)> {
                $($(
                    for value in $crate::resolve::settings::Setting::values(&self.$field) {
                        $check(value, catalogue).map_err(|error| (stringify!($field), error))?;
                    }
                )?)*
                Ok(())
            }
        }
    };
}
pub(crate) use settings;

/// The type of a field of settings: one value or none, or a list.
pub(crate) trait Setting {
    type Value;

    fn values(&self) -> &[Self::Value];

    /// This setting, or `lower` if this is not set.
    fn over(self, lower: Self) -> Self;

    fn is_set(&self) -> bool {
        !self.values().is_empty()
    }
}

impl<T> Setting for Option<T> {
    type Value = T;

    fn values(&self) -> &[T] {
        self.as_slice()
    }

    fn over(self, lower: Self) -> Self {
        self.or(lower)
    }
}

impl<T> Setting for Vec<T> {
    type Value = T;

    fn values(&self) -> &[T] {
        self
    }

    fn over(self, lower: Self) -> Self {
        if self.is_empty() { lower } else { self }
    }
}

/// A value whose flag and plan key are text.
pub(crate) trait FromText: Sized {
    fn from_text(text: &str) -> Result<Self, ConfigError>;
}

impl FromText for Bytes {
    fn from_text(text: &str) -> Result<Self, ConfigError> {
        Ok(text.parse()?)
    }
}

impl FromText for Nanos {
    fn from_text(text: &str) -> Result<Self, ConfigError> {
        Ok(text.parse()?)
    }
}

impl FromText for Fill {
    fn from_text(text: &str) -> Result<Self, ConfigError> {
        text.parse().map_err(|error: fsdyno_model::FillError| {
            ConfigError::wrong(error.to_string(), "a part of its space")
        })
    }
}

impl FromText for LabChoice {
    fn from_text(text: &str) -> Result<Self, ConfigError> {
        let unknown = |_| ConfigError::unknown("lab", text, Self::FORMS.into_iter());
        text.parse().map_err(unknown)
    }
}

impl FromText for KernelChoice {
    fn from_text(text: &str) -> Result<Self, ConfigError> {
        Self::from_text(text).ok_or_else(|| {
            ConfigError::wrong(
                format!("there is no guest kernel `{text}`"),
                "write packaged, lab (built by `fsdyno lab setup`), or a path such as ./linux",
            )
        })
    }
}

impl FromText for DiskTime {
    fn from_text(text: &str) -> Result<Self, ConfigError> {
        let names = Self::ALL.into_iter().map(Self::name);
        let unknown = |_| ConfigError::unknown("time of model disks", text, names);
        text.parse().map_err(unknown)
    }
}

impl FromText for ErrorRate {
    fn from_text(text: &str) -> Result<Self, ConfigError> {
        let names = Self::ALL.into_iter().map(Self::name);
        Self::from_name(text).ok_or_else(|| ConfigError::unknown("error rate", text, names))
    }
}

impl FromText for CopyMethod {
    fn from_text(text: &str) -> Result<Self, ConfigError> {
        let names = Self::ALL.into_iter().map(Self::name);
        Self::from_name(text).ok_or_else(|| ConfigError::unknown("copy method", text, names))
    }
}

/// A share such as `2%`, which is 0.02.
pub(crate) struct Percent(f64);

impl FromText for Percent {
    fn from_text(text: &str) -> Result<Self, ConfigError> {
        Ok(Self(percent(text)?))
    }
}

/// Parses a value of the command line.
pub(crate) fn typed<T: FromText>(text: &str) -> Result<T, String> {
    T::from_text(text).map_err(|error| match error.help() {
        Some(help) => format!("{error} ({help})"),
        None => error.to_string(),
    })
}

/// Parses a share of the command line.
pub(crate) fn typed_percent(text: &str) -> Result<f64, String> {
    typed::<Percent>(text).map(|share| share.0)
}

/// Parses a multiple of the command line.
pub(crate) fn typed_multiple(text: &str) -> Result<f64, String> {
    fsdyno_model::units::multiple(text).map_err(|error| error.to_string())
}

/// Parses a text value of a plan file.
pub(crate) fn text<'de, D: Deserializer<'de>, T: FromText>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_str(Text(PhantomData)).map(Some)
}

/// Parses a list of text values of a plan file.
pub(crate) fn texts<'de, D: Deserializer<'de>, T: FromText>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct Value<T>(T);

    impl<'de, T: FromText> Deserialize<'de> for Value<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_str(Text(PhantomData)).map(Self)
        }
    }

    let values = Vec::<Value<T>>::deserialize(deserializer)?;
    Ok(values.into_iter().map(|value| value.0).collect())
}

/// Parses a share of a plan file.
pub(crate) fn percent_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<f64>, D::Error> {
    Ok(text::<D, Percent>(deserializer)?.map(|share| share.0))
}

/// Parses a text or a list of texts of a plan file.
pub(crate) fn one_or_more<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    struct Texts;

    impl<'de> Visitor<'de> for Texts {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or a list of strings")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<Vec<String>, A::Error> {
            Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(list))
        }
    }

    deserializer.deserialize_any(Texts)
}

struct Text<T>(PhantomData<T>);

// The visitor creates the error, so that the TOML reader adds the position of the value.
impl<T: FromText> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(|error| E::custom(with_help(&error)))
    }
}

const HELP: &str = "\nhelp: ";

/// A message with its help; [`split_help`] splits them again.
pub(crate) fn with_help(error: &ConfigError) -> String {
    let help = error.help().map(|help| format!("{HELP}{help}"));
    format!("{error}{}", help.unwrap_or_default())
}

/// Splits a message of the TOML reader into message and help.
pub(crate) fn split_help(message: &str) -> (String, Option<String>) {
    match message.split_once(HELP) {
        Some((message, help)) => (message.replace('\n', ", "), Some(help.to_owned())),
        None => (message.replace('\n', ", "), None),
    }
}
