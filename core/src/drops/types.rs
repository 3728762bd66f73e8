//! Names of types as the kernel and its BPF programs describe them (BTF): what each enumerator and function is called.
//!
//! It reads the format of `Documentation/bpf/btf.rst` and nothing else; bytes that do not fit are an error.

use std::io;

/// The kinds of types whose names are asked for.
pub const ENUM: u32 = 6;
pub const TYPEDEF: u32 = 8;
pub const FUNCTION: u32 = 12;

const HEADER_BYTES: usize = 24;
const TYPE_BYTES: usize = 12;

/// The types of one BTF.
pub struct Types {
    bytes: Vec<u8>,
    types: std::ops::Range<usize>,
    strings: std::ops::Range<usize>,
}

struct Type {
    number: u32,
    kind: u32,
    name: u32,
    members: std::ops::Range<usize>,
}

impl Types {
    pub fn of_kernel() -> io::Result<Self> {
        Self::parse(std::fs::read("/sys/kernel/btf/vmlinux")?)
    }

    /// These with those of a module, which count on from them.
    pub fn with_module(&self, module: Vec<u8>) -> io::Result<Self> {
        let own = Self::parse(module)?;
        let types = [
            &self.bytes[self.types.clone()],
            &own.bytes[own.types.clone()],
        ]
        .concat();
        let strings = [
            &self.bytes[self.strings.clone()],
            &own.bytes[own.strings.clone()],
        ]
        .concat();
        let mut bytes = self.bytes[..4].to_vec();
        for word in [HEADER_BYTES, 0, types.len(), types.len(), strings.len()] {
            bytes.extend((word as u32).to_ne_bytes());
        }
        bytes.extend(types);
        bytes.extend(strings);
        Self::parse(bytes)
    }

    /// In the kernel's format.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn parse(bytes: Vec<u8>) -> io::Result<Self> {
        let word = |at: usize| {
            let four = bytes.get(at..at + 4)?;
            Some(u32::from_ne_bytes(four.try_into().ok()?) as usize)
        };
        let found = (|| {
            let header = word(4).filter(|header| *header >= HEADER_BYTES)?;
            let (types, strings) = (header + word(8)?, header + word(16)?);
            let (types, strings) = (types..types + word(12)?, strings..strings + word(20)?);
            bytes.get(types.clone()).and(bytes.get(strings.clone()))?;
            Some((types, strings))
        })();
        let (types, strings) = found.ok_or_else(|| io::Error::other("it is no BTF"))?;
        Ok(Types {
            bytes,
            types,
            strings,
        })
    }

    /// The number of the type of this kind and name.
    pub fn number(&self, kind: u32, name: &str) -> Option<u32> {
        let found = self.iter().find(|one| self.is(one, kind, name));
        found.map(|one| one.number)
    }

    /// The name of the type with this number.
    pub fn name(&self, number: u32) -> Option<String> {
        let found = self.iter().find(|one| one.number == number)?;
        Some(self.string(found.name))
    }

    /// Values and names of an enumeration; empty if there is none of this name.
    pub fn enumerators(&self, name: &str) -> Vec<(u32, String)> {
        let Some(found) = self.iter().find(|one| self.is(one, ENUM, name)) else {
            return Vec::new();
        };
        let members = self.bytes[found.members].chunks_exact(8);
        let pairs = members.map(|pair| (read(pair, 4), self.string(read(pair, 0))));
        pairs.collect()
    }

    /// The string that begins at `offset`; empty beyond the end.
    pub fn string(&self, offset: u32) -> String {
        let all = &self.bytes[self.strings.clone()];
        let rest = all.get(offset as usize..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(rest.len());
        String::from_utf8_lossy(&rest[..end]).into_owned()
    }

    fn is(&self, one: &Type, kind: u32, name: &str) -> bool {
        let all = &self.bytes[self.strings.clone()];
        one.kind == kind
            && all
                .get(one.name as usize..)
                .and_then(|rest| rest.strip_prefix(name.as_bytes()))
                .is_some_and(|rest| rest.first() == Some(&0))
    }

    fn iter(&self) -> impl Iterator<Item = Type> + '_ {
        let mut at = self.types.start;
        let mut number = 0;
        std::iter::from_fn(move || {
            let head = self.bytes.get(at..at + TYPE_BYTES)?;
            let info = read(head, 4);
            let (kind, count) = (info >> 24 & 0x1F, (info & 0xFFFF) as usize);
            let first = at + TYPE_BYTES;
            let end = first + member_bytes(kind, count)?;
            if end > self.types.end {
                return None;
            }
            at = end;
            number += 1;
            Some(Type {
                number,
                kind,
                name: read(head, 0),
                members: first..end,
            })
        })
    }
}

/// What follows a type of this kind with so many members; `None` for a kind that is not known.
fn member_bytes(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        1 | 14 | 17 => 4,
        2 | 7..=12 | 16 | 18 => 0,
        3 => 12,
        4 | 5 | 15 | 19 => 12 * count,
        6 | 13 => 8 * count,
        _ => return None,
    })
}

fn read(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two types: an enumeration with two values, and a function.
    fn made() -> Vec<u8> {
        let strings = b"\0why\0FULL\0GONE\0drop\0";
        let types: [u32; 10] = [1, ENUM << 24 | 2, 4, 5, 2, 10, 7, 15, FUNCTION << 24, 1];
        let mut bytes = vec![0x9F, 0xEB, 1, 0];
        for word in [24, 0, 40, 40, strings.len() as u32] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(types.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn names_and_values_are_found() {
        let types = Types::parse(made()).unwrap();
        assert_eq!(
            types.enumerators("why"),
            [(2, "FULL".into()), (7, "GONE".into())]
        );
        assert_eq!(types.number(FUNCTION, "drop"), Some(2));
        assert_eq!(types.name(2).as_deref(), Some("drop"));
        assert_eq!(types.number(FUNCTION, "why"), None);
        assert!(types.enumerators("dro").is_empty());
    }

    #[test]
    fn a_module_counts_on_from_the_kernel() {
        // Its first type is the third one, whose name begins behind all of the kernel's strings.
        let strings = b"judge\0";
        let types: [u32; 3] = [20, FUNCTION << 24, 2];
        let mut module = vec![0x9F, 0xEB, 1, 0];
        for word in [24, 0, 12, 12, strings.len() as u32] {
            module.extend(word.to_ne_bytes());
        }
        module.extend(types.iter().flat_map(|word| word.to_ne_bytes()));
        module.extend(strings);
        let kernel = Types::parse(made()).unwrap();
        let whole = kernel.with_module(module).unwrap();
        assert_eq!(whole.number(FUNCTION, "judge"), Some(3));
        assert_eq!(whole.number(FUNCTION, "drop"), Some(2));
        assert_eq!(whole.enumerators("why").len(), 2);
        assert!(kernel.with_module(vec![0; 8]).is_err());
    }

    #[test]
    fn bytes_that_end_early_are_refused_or_end_the_list() {
        let whole = made();
        for length in 0..whole.len() {
            if let Ok(types) = Types::parse(whole[..length].to_vec()) {
                types.enumerators("why");
            }
        }
        assert!(Types::parse(Vec::new()).is_err());
    }
}
