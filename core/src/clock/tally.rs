//! `Tally`: values with the frequency of each.

use std::collections::BTreeMap;

/// Values and how often each occurred, in ascending order: (value, count).
pub type Tally = Vec<(u64, u64)>;

/// Sorts values into a tally.
pub fn tally(values: impl IntoIterator<Item = u64>) -> Tally {
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_insert(0u64) += 1;
    }
    counts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_counts_every_value_once() {
        assert_eq!(tally([3, 1, 3, 2, 3]), [(1, 1), (2, 1), (3, 3)]);
        assert_eq!(tally([]), []);
    }
}
