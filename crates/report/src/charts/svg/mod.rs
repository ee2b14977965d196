//! A chart as SVG. In an HTML page, the style sheet of the page sets the colours. A standalone
//! picture contains the colours of a theme.
//!
//! This module draws the frame around the panels of a chart. Rows are in `rows`, lines in `lines`,
//! axes in `scale`, elements and text in `canvas`, colours in [`theme`], flame graphs in [`flame`].

mod canvas;
pub mod flame;
mod lines;
mod rows;
mod scale;
pub mod theme;

use super::Chart;
use canvas::{Canvas, LINE, SMALL, wrapped, wrapped_name};
use std::fmt::{self, Write as _};
use std::str::FromStr;
use theme::standalone;

/// The width and the colours of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appearance {
    /// Its width, pixels; at least [`Appearance::NARROWEST`].
    pub width: u32,
    /// The source of the colours.
    pub theme: Theme,
}

/// The source of the colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// The style sheet of the page ([`theme::of_page`]).
    Page,
    /// Built in, on white.
    Light,
    /// Built in, on black.
    Dark,
}

impl Theme {
    /// The themes of standalone pictures.
    pub const ALL: [Self; 2] = [Self::Light, Self::Dark];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

impl fmt::Display for Theme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Theme {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|theme| theme.name() == name);
        found.ok_or_else(|| format!("`{name}` is no theme; there are light and dark"))
    }
}

impl Appearance {
    /// The smallest width, pixels. It fits a phone.
    pub const NARROWEST: u32 = 280;
    /// The largest width, pixels.
    pub const WIDEST: u32 = 4000;

    /// The width, limited to the supported range.
    fn wide(self) -> f64 {
        f64::from(self.width.clamp(Self::NARROWEST, Self::WIDEST))
    }
}

/// The margin around a standalone picture, pixels.
const MARGIN: f64 = 12.0;

/// Renders a chart. The same chart and look give the same bytes.
pub fn render(chart: &Chart, appearance: Appearance) -> String {
    let margin = if appearance.theme == Theme::Page {
        0.0
    } else {
        MARGIN
    };
    let wide = appearance.wide() - 2.0 * margin;
    let mut canvas = Canvas::new(wide);
    let title = wrapped_name(&chart.title, wide, 13.0);
    canvas.lines((0.0, 14.0), "t", &title);
    canvas.down(24.0 + LINE * (title.len() - 1) as f64);
    if chart.panels.iter().any(|panel| panel.y.is_some()) {
        lines::draw(&mut canvas, chart);
    } else {
        rows::draw(&mut canvas, chart);
    }
    if chart.is_empty() {
        canvas.down(18.0);
        canvas.text((0.0, canvas.y - 4.0), "k", "nothing was measured");
    }
    let left_out = canvas.left_out;
    let omission = (left_out > 0)
        .then(|| format!("{left_out} marks have no place on their scale and are not drawn."));
    for note in chart.notes.iter().chain(omission.as_ref()) {
        for line in wrapped(note, wide, SMALL) {
            canvas.down(14.0);
            canvas.text((0.0, canvas.y - 3.0), "k", &line);
        }
    }
    canvas.down(4.0);
    frame(chart, appearance.theme, &canvas, margin)
}

/// Wraps the elements in an `svg` element with a description.
fn frame(chart: &Chart, theme: Theme, canvas: &Canvas, margin: f64) -> String {
    let escaped = canvas::escaped;
    let (name, title, about) = (&chart.name, escaped(&chart.title), escaped(&chart.about));
    let (inside, standing) = (theme == Theme::Page, theme != Theme::Page);
    let (wide, tall) = (canvas.wide + 2.0 * margin, canvas.y.ceil() + 2.0 * margin);
    let mut svg = String::with_capacity(canvas.svg.len() + about.len() + 2048);
    let size = if inside {
        String::new()
    } else {
        format!(r#" xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{tall}""#)
    };
    let kind = chart.kind;
    let _ = write!(
        svg,
        r#"<svg{size} class="graph {kind}" viewBox="{0} {0} {wide} {tall}" role="img" aria-labelledby="{name}-t {name}-d"><title id="{name}-t">{title}</title><desc id="{name}-d">{about}</desc>"#,
        0.0 - margin
    );
    if standing {
        let _ = write!(
            svg,
            r#"<style>{}</style><rect class="paper" x="{1}" y="{1}" width="{wide}" height="{tall}"/>"#,
            standalone(theme),
            0.0 - margin
        );
    }
    svg.push_str(&canvas.svg);
    svg.push_str("</svg>\n");
    svg
}
