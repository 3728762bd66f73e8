//! The buckets of a log-linear histogram: 2^`SUB_BITS` of them for each doubling. This file computes buckets and
//! never counts.

/// The bucket of `value`.
#[inline]
pub fn index<const SUB_BITS: u32>(value: u64) -> usize {
    // Below 2^(SUB_BITS + 1) each value has its own bucket; above, the top SUB_BITS + 1 bits choose it.
    let octave = (63 - (value | 1 << SUB_BITS).leading_zeros()) - SUB_BITS;
    ((octave as usize) << SUB_BITS) + (value >> octave) as usize
}

/// The least value of a bucket.
pub fn lower<const SUB_BITS: u32>(index: usize) -> u64 {
    let sub = 1 << SUB_BITS;
    if index < 2 * sub {
        return index as u64;
    }
    let octave = index / sub - 1;
    ((index % sub + sub) as u64) << octave
}
