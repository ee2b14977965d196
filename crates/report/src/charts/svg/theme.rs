//! Colours. Readers with colour blindness can distinguish the series. The contrast to the
//! background is at least 3:1 (WCAG 2.1, 1.4.11). Markers and dash patterns carry the same
//! information.
//! After M. Okabe and K. Ito, "Color Universal Design" (2008), darker on white, lighter on black.

use super::Theme;
use std::fmt::Write as _;

/// The number of series colours. Further series repeat them; markers and dash patterns have other
/// periods.
pub const STYLES: usize = 8;

/// The colours of a theme.
pub(super) struct Colours {
    pub(super) paper: &'static str,
    pub(super) ink: &'static str,
    pub(super) soft: &'static str,
    pub(super) line: &'static str,
    pub(super) series: [&'static str; STYLES],
}

pub(super) const LIGHT: Colours = Colours {
    paper: "#ffffff",
    ink: "#1b1f24",
    soft: "#5c6670",
    line: "#dfe3e8",
    series: [
        "#004f9e", "#e06000", "#00845c", "#cc5ba5", "#5c4400", "#3d444c", "#3b8fc9", "#8f2d12",
    ],
};

pub(super) const DARK: Colours = Colours {
    paper: "#14171b",
    ink: "#e4e7ea",
    soft: "#98a2ad",
    line: "#2f363e",
    series: [
        "#5ab4f0", "#e87722", "#55d9b0", "#c85aa8", "#e6cb52", "#d5dae0", "#8ea2ff", "#ff9f92",
    ],
};

/// The rules that do not depend on the colours.
const SHAPES: &str = "\
.graph text{font:12px system-ui,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;fill:var(--chart-ink)}\
.graph .t{font-size:13px;font-weight:650}\
.graph .p{font-weight:600}\
.graph .k{font-size:11px;fill:var(--chart-soft)}\
.graph .g{stroke:var(--chart-line);stroke-width:1;fill:none}\
.graph .z{stroke:var(--chart-soft);stroke-width:1;fill:none;stroke-dasharray:4 3}\
.graph .o{fill:var(--chart-paper);stroke:currentColor;stroke-width:1}\
.graph .r{fill:none;stroke:currentColor;stroke-width:1.2}\
.graph .i{fill:currentColor;fill-opacity:.38;stroke:none}\
.graph .m{fill:currentColor;stroke:var(--chart-paper);stroke-width:1}\
.graph .b{fill:currentColor;fill-opacity:.8}\
.graph .h{fill:currentColor;fill-opacity:.55}\
.graph .l{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linejoin:round}\
.graph .paper{fill:var(--chart-paper)}";

/// The rules of a standalone picture, with every colour written out.
pub(super) fn standalone(theme: Theme) -> String {
    let colours = if theme == Theme::Dark { &DARK } else { &LIGHT };
    let mut rules = SHAPES
        .replace("var(--chart-ink)", colours.ink)
        .replace("var(--chart-soft)", colours.soft)
        .replace("var(--chart-line)", colours.line)
        .replace("var(--chart-paper)", colours.paper);
    for (at, colour) in colours.series.iter().enumerate() {
        let _ = write!(rules, ".graph .s{at}{{color:{colour}}}");
    }
    rules
}

/// Paper, ink and soft ink of a flame graph as a standalone picture; none for a page.
pub(super) fn of_flame(theme: Theme) -> Option<[&'static str; 3]> {
    let colours = match theme {
        Theme::Page => return None,
        Theme::Light => &LIGHT,
        Theme::Dark => &DARK,
    };
    Some([colours.paper, colours.ink, colours.soft])
}

/// The rules of a page, for both themes. `dark` is the condition of the dark theme, for example
/// `@media screen and (prefers-color-scheme: dark)`.
pub fn of_page(dark: &str) -> String {
    let variables = |colours: &Colours| {
        let Colours {
            paper,
            ink,
            soft,
            line,
            series,
        } = colours;
        let mut rules = format!(
            "--chart-paper:{paper};--chart-ink:{ink};--chart-soft:{soft};--chart-line:{line};"
        );
        for (at, colour) in series.iter().enumerate() {
            let _ = write!(rules, "--s{at}:{colour};");
        }
        rules
    };
    let mut rules = format!(":root{{{}}}\n", variables(&LIGHT));
    let _ = writeln!(rules, "{dark}{{:root{{{}}}}}", variables(&DARK));
    rules.push_str(SHAPES);
    for at in 0..STYLES {
        let _ = write!(rules, ".graph .s{at}{{color:var(--s{at})}}");
    }
    rules.push_str(".graph{display:block;width:100%;height:auto}\n");
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour| {
            let [r, g, b] = linear(colour);
            0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
        };
        let (a, b): (f64, f64) = (luminance(a), luminance(b));
        (a / b).max(b / a)
    }

    #[test]
    fn all_colours_have_enough_contrast() {
        for colours in [LIGHT, DARK] {
            for text in [colours.ink, colours.soft] {
                assert!(contrast(text, colours.paper) >= 4.5, "{text}");
            }
            for series in colours.series {
                let reached = contrast(series, colours.paper);
                assert!(reached >= 3.0, "{series}: {reached:.2}");
            }
        }
    }

    /// Simulated protanopia and deuteranopia: G. M. Machado, M. M. Oliveira and L. A. F. Fernandes,
    /// IEEE TVCG 15 (2009), 1291-1298, severity 1.
    const LACKING: [[[f64; 3]; 3]; 2] = [
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ];

    #[test]
    fn colour_blind_readers_can_distinguish_the_first_five_contenders() {
        for colours in [LIGHT, DARK] {
            for eye in LACKING {
                let seen = |colour: &str| {
                    let rgb = linear(colour);
                    eye.map(|row| {
                        (0..3)
                            .map(|at| row[at] * rgb[at])
                            .sum::<f64>()
                            .clamp(0.0, 1.0)
                            .sqrt()
                    })
                };
                let first = &colours.series[..5];
                for (at, a) in first.iter().enumerate() {
                    for b in &first[at + 1..] {
                        let (x, y) = (seen(a), seen(b));
                        let distance: f64 =
                            (0..3).map(|at| (x[at] - y[at]).powi(2)).sum::<f64>().sqrt();
                        assert!(distance > 0.2, "{a} and {b}: {distance:.2}");
                    }
                }
            }
        }
    }
}
