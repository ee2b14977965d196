//! The styles of text files of a package tree, a home directory and a source tree. [`super::text`]
//! selects the words.

use std::sync::OnceLock;

/// The style of a kind of text file.
#[derive(Debug)]
pub struct Style {
    pub name: &'static str,
    /// The beginning of its first line: a comment mark.
    pub(super) comment: &'static str,
    /// The templates of its lines, which are equally frequent. `%4-9w` is four to nine words, `%w` a
    /// word, and `%6x` six hexadecimal digits.
    templates: &'static [&'static str],
    lines: OnceLock<Vec<Vec<Piece>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    Literal(&'static str),
    /// A number of words between these bounds, separated by blanks.
    Words(u8, u8),
    /// This number of hexadecimal digits: a multiple of 16 or less than 16.
    Hex(u8),
}

impl Style {
    const fn new(
        name: &'static str,
        comment: &'static str,
        templates: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            comment,
            templates,
            lines: OnceLock::new(),
        }
    }

    pub(super) fn lines(&self) -> &[Vec<Piece>] {
        let parse = || self.templates.iter().map(|line| pieces(line)).collect();
        self.lines.get_or_init(parse)
    }
}

fn pieces(template: &'static str) -> Vec<Piece> {
    let mut parts = template.split('%');
    let mut pieces = vec![Piece::Literal(parts.next().unwrap_or_default())];
    let number = |text: &str| text.parse().unwrap_or(1);
    for part in parts {
        let (count, text) = part.split_once(['w', 'x']).unwrap_or((part, ""));
        pieces.push(if part[count.len()..].starts_with('x') {
            Piece::Hex(number(count))
        } else {
            let (least, most) = count.split_once('-').unwrap_or((count, count));
            Piece::Words(number(least), number(most))
        });
        pieces.push(Piece::Literal(text));
    }
    pieces.retain(|piece| *piece != Piece::Literal(""));
    pieces
}

pub static EBUILD: Style = Style::new(
    "build recipe",
    "# ",
    &[
        "DESCRIPTION=\"%4-9w\"",
        "\t%2-6w || die",
        "\tuse %w && %2-4w",
        "DEPEND=\"%3-7w\"",
        "\teconf --with-%w --enable-%1-2w",
        "src_%w() {",
        "\t# %3-9w",
        "}",
        "",
    ],
);

pub static CHANGELOG: Style = Style::new(
    "change log",
    "# ",
    &[
        "  %7-11w",
        "  %3-9w, bug #%6x",
        "*%w-%2x.%1x",
        "  %1-2w <%w@gentoo.org>",
        "",
    ],
);

pub static MANIFEST: Style = Style::new(
    "manifest",
    "-",
    &[
        "AUX %1-2w.patch RMD160 %32x SHA1 %32x SHA256 %64x",
        "EBUILD %1-2w.ebuild RMD160 %32x SHA1 %32x SHA256 %64x",
    ],
);

pub static XML: Style = Style::new(
    "XML",
    "<!-- ",
    &[
        "<pkgmetadata>",
        "\t<herd>%w</herd>",
        "\t<maintainer><email>%w@gentoo.org</email>",
        "\t<longdescription>%4-9w</longdescription>",
    ],
);

pub static CACHE: Style = Style::new(
    "metadata cache",
    "",
    &[
        "%3-10w",
        "%4-12w",
        ">=dev-libs/%w-%2x %2-5w",
        "mirror://%w/%w.tar.gz",
        "",
    ],
);

pub static PATCH: Style = Style::new(
    "patch",
    "--- ",
    &[
        "+%2-8w;",
        "-%2-8w;",
        " \t%2-8w;",
        " \tif (%1-2w) {",
        "@@ -%3x,7 +%3x,8 @@ %1-2w",
        " \t}",
        " ",
    ],
);

pub static MAKEFILE: Style = Style::new(
    "makefile",
    "# ",
    &[
        "PORTNAME=\t%w",
        "COMMENT=\t%4-9w",
        "MASTER_SITES=\t%1-3w",
        "LIB_DEPENDS=\t%w.%1x:${PORTSDIR}/%w",
        "CONFIGURE_ARGS+=\t--with-%w",
        "\t@${ECHO_MSG} %3-8w",
        "USE_%w=\tyes",
        ".if defined(%w)",
        ".endif",
        "",
    ],
);

pub static DISTINFO: Style = Style::new(
    "checksums",
    "",
    &["MD5 (%1-2w.tar.gz) = %32x", "SIZE (%1-2w.tar.gz) = %6x"],
);

pub static PROSE: Style = Style::new("prose", "", &["%8-12w", "%8-12w", "%8-12w,", "%3-9w.", ""]);

pub static PLIST: Style = Style::new(
    "packing list",
    "@comment ",
    &[
        "share/%w/%w.png",
        "share/doc/%w/%w.html",
        "lib/%w/%w.so.%1x",
        "include/%w.h",
        "bin/%w",
        "@dirrm share/%w",
    ],
);

pub static SOURCE: Style = Style::new(
    "source code",
    "// ",
    &[
        "\tif (%1-3w) {",
        "\t\treturn %1-2w;",
        "\t%1-2w = %1-4w;",
        "\t}",
        "static int %w(struct %1-2w)",
        "/* %4-9w */",
        "{",
        "}",
        "",
    ],
);

/// All styles, for tests of common properties.
#[cfg(test)]
pub static STYLES: &[&Style] = &[
    &EBUILD, &CHANGELOG, &MANIFEST, &XML, &CACHE, &PATCH, &MAKEFILE, &DISTINFO, &PROSE, &PLIST,
    &SOURCE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_literals_words_and_digits() {
        use Piece::{Hex, Literal, Words};
        assert_eq!(pieces(""), []);
        assert_eq!(pieces("%w"), [Words(1, 1)]);
        let line = [Literal("a "), Words(4, 12), Hex(32), Literal(" -x")];
        assert_eq!(pieces("a %4-12w%32x -x"), line);
    }
}
