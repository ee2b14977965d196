//! A drawing as PNG. The font is part of the program, so a picture has the same bytes on every
//! machine.

use super::Picture;
#[cfg(feature = "png")]
use resvg::{tiny_skia, usvg};
#[cfg(feature = "png")]
use skrifa::{FontRef, MetadataProvider as _};
#[cfg(feature = "png")]
use std::sync::Arc;

/// Whether this build renders pictures: the feature `png`.
pub const BUILT: bool = cfg!(feature = "png");

/// The font of pictures.
pub const FONT: &str = "DejaVu Sans Condensed";
/// The largest number of pixels of a picture. It keeps memory below 1 GiB.
#[cfg(feature = "png")]
const MAX_PIXELS: f64 = 200e6;

/// An error while a picture is rendered.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The drawing is not valid SVG.
    #[cfg(feature = "png")]
    #[error("the drawing of a chart is not read as SVG")]
    Svg(#[from] usvg::Error),
    /// The built-in font is invalid.
    #[error("the font DejaVu Sans Condensed, which fsdyno contains, is not read as a font")]
    Font,
    /// The picture is too large.
    #[error(
        "a picture of {wide:.0} x {tall:.0} pixels is too large; take a smaller --width or --zoom"
    )]
    Size {
        /// Its width.
        wide: f32,
        /// Its height.
        tall: f32,
    },
    /// The build renders no pictures.
    #[error(
        "this build of fsdyno writes no PNG. Take SVG (--output NAME.svg), or a build of `./x build` \
         or a package"
    )]
    NotBuilt,
    /// The PNG encoder failed.
    #[error("the picture cannot be written as PNG: {0}")]
    Encode(String),
}

/// Without the feature no character is lacking, because nothing is drawn.
#[cfg(not(feature = "png"))]
pub fn lacking(_: &Picture) -> String {
    String::new()
}

/// Without the feature this is an error.
#[cfg(not(feature = "png"))]
pub fn of_svg(_: &str, _: f32) -> Result<Vec<u8>, PngError> {
    Err(PngError::NotBuilt)
}

/// The characters of a picture that the built-in font does not have. The SVG keeps them.
#[cfg(feature = "png")]
pub fn lacking(picture: &Picture) -> String {
    let font = FontRef::new(dejavu::sans_condensed::regular());
    let letters = font.map(|font| font.charmap());
    let mut lacking = String::new();
    for letter in picture.names().flat_map(|name| name.chars()) {
        let there = letters.as_ref().is_ok_and(|map| map.map(letter).is_some());
        if !there && !lacking.contains(letter) {
            lacking.push(letter);
        }
    }
    lacking
}

/// Renders a drawing as a picture, with `zoom` pixels for each of its own.
#[cfg(feature = "png")]
pub fn of_svg(svg: &str, zoom: f32) -> Result<Vec<u8>, PngError> {
    let mut options = usvg::Options::default();
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(dejavu::sans_condensed::regular().to_vec());
    let family = fonts
        .faces()
        .next()
        .and_then(|face| Some(face.families.first()?.0.clone()));
    let family = family.ok_or(PngError::Font)?;
    fonts.set_sans_serif_family(family.clone());
    options.font_family = family;
    let tree = usvg::Tree::from_str(svg, &options)?;
    let size = tree.size();
    let (wide, tall) = ((size.width() * zoom).ceil(), (size.height() * zoom).ceil());
    let too_large = PngError::Size { wide, tall };
    if f64::from(wide) * f64::from(tall) > MAX_PIXELS {
        return Err(too_large);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    let pixels = tiny_skia::Pixmap::new(wide as u32, tall as u32);
    let Some(mut pixels) = pixels else {
        return Err(too_large);
    };
    let scaled = tiny_skia::Transform::from_scale(zoom, zoom);
    resvg::render(&tree, scaled, &mut pixels.as_mut());
    pixels
        .encode_png()
        .map_err(|error| PngError::Encode(error.to_string()))
}
