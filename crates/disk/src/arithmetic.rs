//! Logarithm, exponential and normal quantile, computed with the four basic operations and the
//! square root only.
//!
//! IEEE 754 fixes the results of these operations to the last bit, but not those of the system's
//! `ln` and `exp`. With the latter, a latency rounded to a nanosecond could differ between
//! machines. This module also rounds times to nanoseconds.

/// Milliseconds in whole nanoseconds.
pub fn ms_to_ns(ms: f64) -> u64 {
    to_ns(ms * 1e6)
}

/// Microseconds in whole nanoseconds.
pub fn us_to_ns(us: f64) -> u64 {
    to_ns(us * 1e3)
}

/// Rounds to whole nanoseconds. A negative number or NaN gives 0.
pub fn to_ns(ns: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates; NaN becomes 0"
    )]
    {
        ns.round() as u64
    }
}

/// Transfer time of bytes at a rate in MB/s (10^6). It rounds up, so that no transfer takes zero
/// time.
pub fn bytes_to_ns(bytes: u64, mb_s: f64) -> u64 {
    to_ns((bytes as f64 * 1e3 / mb_s).ceil())
}

/// The natural logarithm of a positive, finite number.
pub fn ln(x: f64) -> f64 {
    const BIAS: i64 = 1023;
    let bits = x.to_bits();
    // Subnormal numbers do not occur: inputs are probabilities of 53 bits and latencies in
    // nanoseconds.
    let exponent = i64::try_from(bits >> 52).unwrap_or(BIAS) - BIAS;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let mut exponent = exponent as f64;
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1.0;
    }
    // ln m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172: the series error is below 2^-60.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    let mut odd = 23.0;
    while odd >= 1.0 {
        sum = sum * square + 1.0 / odd;
        odd -= 2.0;
    }
    2.0 * s * sum + exponent * std::f64::consts::LN_2
}

/// e to the power of `x`, for `x` between -700 and 700.
pub fn exp(x: f64) -> f64 {
    let halves = (x / std::f64::consts::LN_2).round();
    let rest = x - halves * std::f64::consts::LN_2;
    // For |rest| < 0.35, the error of 18 terms is below 2^-60.
    let mut sum = 1.0;
    let mut n = 18.0;
    while n >= 1.0 {
        sum = 1.0 + sum * rest / n;
        n -= 1.0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most 1011 either way"
    )]
    let power = f64::from_bits(((halves.clamp(-1010.0, 1010.0) as i64 + 1023) as u64) << 52);
    sum * power
}

/// Quantile of the standard normal distribution for probability `p`, 0 < p < 1. The relative error
/// is below 1.2e-9.
///
/// Source: P. J. Acklam, "An algorithm for computing the inverse normal cumulative distribution
/// function" (2003), rational approximations for the centre and for the tails.
pub fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    const TAIL: f64 = 0.02425;
    let tail = |p: f64| {
        let q = (-2.0 * ln(p)).sqrt();
        polynomial(&C, q) / polynomial(&D, q)
    };
    if p < TAIL {
        tail(p)
    } else if p > 1.0 - TAIL {
        -tail(1.0 - p)
    } else {
        let q = p - 0.5;
        let r = q * q;
        polynomial(&A, r) * q / polynomial(&B, r)
    }
}

/// The polynomial with these coefficients, highest power first.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * x + c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within * (1.0 + b.abs())
    }

    #[test]
    fn functions_agree_with_the_system_library() {
        for n in 1..2000_u32 {
            let x = f64::from(n) * f64::from(n) / 777.0;
            assert!(close(ln(x), x.ln(), 1e-14), "{x}");
            let x = f64::from(n) / 50.0 - 20.0;
            assert!((exp(x) - x.exp()).abs() <= 1e-13 * x.exp(), "{x}");
        }
    }

    #[test]
    fn normal_quantiles_match_published_tables() {
        for (p, z) in [
            (0.5, 0.0),
            (0.841_344_746_068_543, 1.0),
            (0.99, 2.326_347_874_040_841),
            (0.001, -3.090_232_306_167_813),
            (0.975, 1.959_963_984_540_054),
        ] {
            assert!(close(normal_quantile(p), z, 1e-8), "{p}");
        }
    }

    #[test]
    fn results_have_equal_bits_on_every_machine() {
        // Reference values of one run. Other machines, compilers and libraries must give the same.
        let bits = [ln(0.3), exp(-1.7), normal_quantile(0.999)].map(f64::to_bits);
        let expected = [BITS_LN, BITS_EXP, BITS_QUANTILE];
        assert_eq!(bits, expected, "{bits:#x?}");
    }

    const BITS_LN: u64 = 0xbff3_4378_fcbd_a720;
    const BITS_EXP: u64 = 0x3fc7_622c_78a9_8a06;
    const BITS_QUANTILE: u64 = 0x4008_b8cb_b6ee_2822;

    #[test]
    fn times_round_to_nanoseconds_and_no_transfer_takes_zero_time() {
        assert_eq!(ms_to_ns(14.285_714_285), 14_285_714);
        assert_eq!(us_to_ns(f64::NAN), 0);
        assert_eq!(to_ns(-3.0), 0);
        assert_eq!(bytes_to_ns(512, 1e9), 1);
        assert_eq!(bytes_to_ns(1_000_000, 100.0), 10_000_000);
    }
}
