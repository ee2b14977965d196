//! The least value of a function of a few numbers, by compass search (T. G. Kolda, R. M. Lewis, V.
//! Torczon, "Optimization by direct search", SIAM Review 45(3), 2003).

/// The search ends when its steps are this share of the first ones.
const FINEST: f64 = 1e-3;

/// Moves `point` to a local minimum of `value`. `steps` are the first steps of each coordinate.
pub fn least<const N: usize>(
    point: &mut [f64; N],
    steps: &[f64; N],
    mut value: impl FnMut(&[f64]) -> f64,
) {
    let mut best = value(&point[..]);
    let mut scale = 1.0;
    while scale > FINEST {
        let mut moved = false;
        // All corners, edges and faces: valleys are not along the axes.
        for direction in 0..3_u32.pow(u32::try_from(N).unwrap_or_default()) {
            let mut next = *point;
            let mut rest = direction;
            for (at, step) in next.iter_mut().zip(steps) {
                *at += (f64::from(rest % 3) - 1.0) * scale * step;
                rest /= 3;
            }
            let found = value(&next[..]);
            if found < best {
                (best, *point, moved) = (found, next, true);
            }
        }
        if !moved {
            scale /= 2.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_of_a_bowl_is_found() {
        let mut point = [5.0, -3.0];
        least(&mut point, &[1.0, 1.0], |at| {
            (at[0] - 1.25).powi(2) + 3.0 * (at[1] - 2.5).powi(2)
        });
        assert!((point[0] - 1.25).abs() < 1e-2 && (point[1] - 2.5).abs() < 1e-2);
    }
}
