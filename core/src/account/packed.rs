//! A long list of gaps as one text, which the host reads in a twentieth of the time that a JSON object for each takes.
//!
//! The columns one after the other, each as differences of 64 bits, compressed by zlib, in base64: what
//! `keisoku/subjects/device/record/packed.py` reads and keeps.

use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::ser::Error;
use serde::{Serialize, Serializer};

use crate::account::gaps::Gap;

/// Lists of so many gaps stay lists, which people can read.
const SHORT: usize = 32;
const NO_TIME: i64 = i64::MIN;

#[derive(Serialize)]
struct Packed<'a> {
    packed: String,
    /// Of the joined gaps, by their places in the list.
    bitmaps: BTreeMap<usize, &'a str>,
}

/// Serialises a list of gaps, for `#[serde(serialize_with)]`.
pub fn gaps<S: Serializer>(gaps: &[Gap], serializer: S) -> Result<S::Ok, S::Error> {
    if gaps.len() <= SHORT {
        return gaps.serialize(serializer);
    }
    let bitmaps = gaps
        .iter()
        .enumerate()
        .filter_map(|(place, gap)| Some((place, gap.bitmap.as_deref()?)))
        .collect();
    let packed = text(gaps).map_err(Error::custom)?;
    Packed { packed, bitmaps }.serialize(serializer)
}

fn text(gaps: &[Gap]) -> std::io::Result<String> {
    let columns: [fn(&Gap) -> i64; 5] = [
        |gap| gap.first as i64,
        |gap| gap.last as i64,
        |gap| gap.count as i64,
        |gap| gap.after_ns.map_or(NO_TIME, |ns| ns as i64),
        |gap| gap.before_ns.map_or(NO_TIME, |ns| ns as i64),
    ];
    let mut octets = Vec::with_capacity(columns.len() * gaps.len() * size_of::<i64>());
    for column in columns {
        let mut before = 0;
        for value in gaps.iter().map(column) {
            octets.extend(i64::wrapping_sub(value, before).to_le_bytes());
            before = value;
        }
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&octets)?;
    Ok(STANDARD.encode(encoder.finish()?))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use flate2::read::ZlibDecoder;

    use super::{NO_TIME, SHORT, gaps};
    use crate::account::gaps::Gap;

    fn gap(place: u64) -> Gap {
        Gap {
            first: 10 * place,
            last: 10 * place + 3,
            count: if place == 7 { 2 } else { 4 },
            after_ns: (place > 0).then_some(1000 * place),
            before_ns: Some(u64::MAX >> 1),
            bitmap: (place == 7).then(|| "Aw==".to_owned()),
        }
    }

    fn serialised(count: u64) -> serde_json::Value {
        let list: Vec<Gap> = (0..count).map(gap).collect();
        gaps(&list, serde_json::value::Serializer).unwrap()
    }

    #[test]
    fn a_short_list_stays_a_list() {
        assert_eq!(serialised(SHORT as u64).as_array().unwrap().len(), SHORT);
    }

    #[test]
    fn the_sums_of_the_differences_are_the_columns() {
        let count = SHORT + 1;
        let value = serialised(count as u64);
        assert_eq!(value["bitmaps"], serde_json::json!({"7": "Aw=="}));
        let text = STANDARD.decode(value["packed"].as_str().unwrap()).unwrap();
        let mut octets = Vec::new();
        ZlibDecoder::new(&text[..])
            .read_to_end(&mut octets)
            .unwrap();
        let steps: Vec<i64> = octets
            .chunks_exact(8)
            .map(|step| i64::from_le_bytes(step.try_into().unwrap()))
            .collect();
        let columns: Vec<Vec<i64>> = steps
            .chunks_exact(count)
            .map(|column| {
                column
                    .iter()
                    .scan(0_i64, |sum, step| {
                        *sum = sum.wrapping_add(*step);
                        Some(*sum)
                    })
                    .collect()
            })
            .collect();
        for place in 0..count {
            let expected = gap(place as u64);
            let after_ns = expected.after_ns.map_or(NO_TIME, |ns| ns as i64);
            let row: Vec<i64> = columns.iter().map(|column| column[place]).collect();
            let [first, last, kept] =
                [expected.first, expected.last, expected.count].map(|n| n as i64);
            assert_eq!(row, [first, last, kept, after_ns, i64::MAX]);
        }
    }
}
