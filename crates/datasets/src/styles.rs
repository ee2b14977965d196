//! The styles of text files of a package tree, a home directory and a source tree: their lines, as
//! literals, words and hexadecimal digits. [`super::text`] selects the words.

/// The style of a kind of text file.
#[derive(Debug)]
pub struct Style {
    /// The kind of file.
    pub name: &'static str,
    /// The beginning of its first line: a comment mark.
    pub(super) comment: &'static str,
    /// The lines, with equal probability.
    pub(super) lines: &'static [&'static [Piece]],
}

/// A piece of a line.
#[derive(Debug, Clone, Copy)]
pub enum Piece {
    /// A literal.
    Literal(&'static str),
    /// A number of words between these bounds, separated by blanks.
    Words(u8, u8),
    /// This number of hexadecimal digits: a multiple of 16 or less than 16.
    Hex(u8),
}

use Piece::{Hex, Literal, Words};

macro_rules! style {
    ($id:ident, $name:literal, $comment:literal, [$($line:expr),+ $(,)?]) => {
        #[doc = concat!("The shape of: ", $name, ".")]
        pub static $id: Style = Style { name: $name, comment: $comment, lines: &[$(&$line),+] };
    };
}

style!(
    EBUILD,
    "build recipe",
    "# ",
    [
        [Literal("DESCRIPTION=\""), Words(4, 9), Literal("\"")],
        [Literal("\t"), Words(2, 6), Literal(" || die")],
        [Literal("\tuse "), Words(1, 1), Literal(" && "), Words(2, 4)],
        [Literal("DEPEND=\""), Words(3, 7), Literal("\"")],
        [
            Literal("\teconf --with-"),
            Words(1, 1),
            Literal(" --enable-"),
            Words(1, 2)
        ],
        [Literal("src_"), Words(1, 1), Literal("() {")],
        [Literal("\t# "), Words(3, 9)],
        [Literal("}")],
        [],
    ]
);

style!(
    CHANGELOG,
    "change log",
    "# ",
    [
        [Literal("  "), Words(7, 11)],
        [Literal("  "), Words(3, 9), Literal(", bug #"), Hex(6)],
        [
            Literal("*"),
            Words(1, 1),
            Literal("-"),
            Hex(2),
            Literal("."),
            Hex(1)
        ],
        [
            Literal("  "),
            Words(1, 2),
            Literal(" <"),
            Words(1, 1),
            Literal("@gentoo.org>")
        ],
        [],
    ]
);

style!(
    MANIFEST,
    "manifest",
    "-",
    [
        [
            Literal("AUX "),
            Words(1, 2),
            Literal(".patch RMD160 "),
            Hex(32),
            Literal(" SHA1 "),
            Hex(32),
            Literal(" SHA256 "),
            Hex(64),
        ],
        [
            Literal("EBUILD "),
            Words(1, 2),
            Literal(".ebuild RMD160 "),
            Hex(32),
            Literal(" SHA1 "),
            Hex(32),
            Literal(" SHA256 "),
            Hex(64),
        ],
    ]
);

style!(
    XML,
    "XML",
    "<!-- ",
    [
        [Literal("<pkgmetadata>")],
        [Literal("\t<herd>"), Words(1, 1), Literal("</herd>")],
        [
            Literal("\t<maintainer><email>"),
            Words(1, 1),
            Literal("@gentoo.org</email>")
        ],
        [
            Literal("\t<longdescription>"),
            Words(4, 9),
            Literal("</longdescription>")
        ],
    ]
);

style!(
    CACHE,
    "metadata cache",
    "",
    [
        [Words(3, 10)],
        [Words(4, 12)],
        [
            Literal(">=dev-libs/"),
            Words(1, 1),
            Literal("-"),
            Hex(2),
            Literal(" "),
            Words(2, 5)
        ],
        [
            Literal("mirror://"),
            Words(1, 1),
            Literal("/"),
            Words(1, 1),
            Literal(".tar.gz")
        ],
        [],
    ]
);

style!(
    PATCH,
    "patch",
    "--- ",
    [
        [Literal("+"), Words(2, 8), Literal(";")],
        [Literal("-"), Words(2, 8), Literal(";")],
        [Literal(" \t"), Words(2, 8), Literal(";")],
        [Literal(" \tif ("), Words(1, 2), Literal(") {")],
        [
            Literal("@@ -"),
            Hex(3),
            Literal(",7 +"),
            Hex(3),
            Literal(",8 @@ "),
            Words(1, 2)
        ],
        [Literal(" \t}")],
        [Literal(" ")],
    ]
);

style!(
    MAKEFILE,
    "makefile",
    "# ",
    [
        [Literal("PORTNAME=\t"), Words(1, 1)],
        [Literal("COMMENT=\t"), Words(4, 9)],
        [Literal("MASTER_SITES=\t"), Words(1, 3)],
        [
            Literal("LIB_DEPENDS=\t"),
            Words(1, 1),
            Literal("."),
            Hex(1),
            Literal(":${PORTSDIR}/"),
            Words(1, 1)
        ],
        [Literal("CONFIGURE_ARGS+=\t--with-"), Words(1, 1)],
        [Literal("\t@${ECHO_MSG} "), Words(3, 8)],
        [Literal("USE_"), Words(1, 1), Literal("=\tyes")],
        [Literal(".if defined("), Words(1, 1), Literal(")")],
        [Literal(".endif")],
        [],
    ]
);

style!(
    DISTINFO,
    "checksums",
    "",
    [
        [
            Literal("MD5 ("),
            Words(1, 2),
            Literal(".tar.gz) = "),
            Hex(32)
        ],
        [
            Literal("SIZE ("),
            Words(1, 2),
            Literal(".tar.gz) = "),
            Hex(6)
        ],
    ]
);

style!(
    PROSE,
    "prose",
    "",
    [
        [Words(8, 12)],
        [Words(8, 12)],
        [Words(8, 12), Literal(",")],
        [Words(3, 9), Literal(".")],
        [],
    ]
);

style!(
    PLIST,
    "packing list",
    "@comment ",
    [
        [
            Literal("share/"),
            Words(1, 1),
            Literal("/"),
            Words(1, 1),
            Literal(".png")
        ],
        [
            Literal("share/doc/"),
            Words(1, 1),
            Literal("/"),
            Words(1, 1),
            Literal(".html")
        ],
        [
            Literal("lib/"),
            Words(1, 1),
            Literal("/"),
            Words(1, 1),
            Literal(".so."),
            Hex(1)
        ],
        [Literal("include/"), Words(1, 1), Literal(".h")],
        [Literal("bin/"), Words(1, 1)],
        [Literal("@dirrm share/"), Words(1, 1)],
    ]
);

style!(
    SOURCE,
    "source code",
    "// ",
    [
        [Literal("\tif ("), Words(1, 3), Literal(") {")],
        [Literal("\t\treturn "), Words(1, 2), Literal(";")],
        [
            Literal("\t"),
            Words(1, 2),
            Literal(" = "),
            Words(1, 4),
            Literal(";")
        ],
        [Literal("\t}")],
        [
            Literal("static int "),
            Words(1, 1),
            Literal("(struct "),
            Words(1, 2),
            Literal(")")
        ],
        [Literal("/* "), Words(4, 9), Literal(" */")],
        [Literal("{")],
        [Literal("}")],
        [],
    ]
);

/// All styles, for tests of common properties.
#[cfg(test)]
pub static STYLES: &[&Style] = &[
    &EBUILD, &CHANGELOG, &MANIFEST, &XML, &CACHE, &PATCH, &MAKEFILE, &DISTINFO, &PROSE, &PLIST,
    &SOURCE,
];
