//! Numbers in, numbers out: quantiles, ratios, ranks.
