//! The messages about links on a netlink socket (RTM_GETLINK, RTM_NEWLINK, RTM_DELLINK) as bytes.

/// No message about one link is longer.
pub const LONGEST: usize = 1 << 15;
/// Addresses and type of an Ethernet header, which an MTU leaves out.
pub const HEADER_BYTES: usize = 14;

/// struct nlmsghdr, struct ifinfomsg.
const HEADER: usize = 16;
const ABOUT: usize = 16;
/// Number of our questions: reports of changes have those of whoever made them.
const QUESTION: u32 = 0x6B73_6C6B;

const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_CARRIER_CHANGES: u16 = 35;

/// The state of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub name: String,
    pub mtu: u32,
    /// Set up by its administrator.
    pub up: bool,
    /// Set up, and connected.
    pub carrier: bool,
    /// How often the carrier came or went since the interface was made.
    pub changes: u32,
}

/// What the kernel reported of the interface with an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Is(u32, Link),
    /// It was removed, or moved to another namespace.
    Gone(u32),
}

/// A request for the state of the interface with this index.
pub fn question(index: u32) -> Vec<u8> {
    let mut bytes = ((HEADER + ABOUT) as u32).to_ne_bytes().to_vec();
    bytes.extend(libc::RTM_GETLINK.to_ne_bytes());
    bytes.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    bytes.extend(QUESTION.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend(index.to_ne_bytes());
    bytes.resize(HEADER + ABOUT, 0);
    bytes
}

/// Hands over each message of a datagram, and whether it answers a question; an error is its number.
pub fn each(mut bytes: &[u8], sink: &mut dyn FnMut(Result<Told, i32>, bool)) {
    while let Some(length) = word(bytes, 0) {
        let length = length as usize;
        let (Some(message), Some(kind)) = (bytes.get(..length), half(bytes, 4)) else {
            return;
        };
        if length < HEADER {
            return;
        }
        let asked = word(message, 8) == Some(QUESTION);
        let body = &message[HEADER..];
        if kind == libc::NLMSG_ERROR as u16 {
            let code = word(body, 0).map_or(0, |code| -(code as i32));
            sink(Err(code), asked);
        } else if let Some(told) = about(kind, body) {
            sink(Ok(told), asked);
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

fn about(kind: u16, body: &[u8]) -> Option<Told> {
    let (family, index, flags) = (body.first()?, word(body, 4)?, word(body, 8)? as i32);
    // A bridge reports its ports by messages of its own family.
    if i32::from(*family) != libc::AF_UNSPEC {
        return None;
    }
    match kind {
        libc::RTM_DELLINK => return Some(Told::Gone(index)),
        libc::RTM_NEWLINK => {}
        _ => return None,
    }
    let attributes = body.get(ABOUT..)?;
    let name = attribute(attributes, IFLA_IFNAME)?;
    let name = name.split(|byte| *byte == 0).next()?;
    Some(Told::Is(
        index,
        Link {
            name: String::from_utf8_lossy(name).into_owned(),
            mtu: word(attribute(attributes, IFLA_MTU)?, 0)?,
            up: flags & libc::IFF_UP != 0,
            carrier: flags & libc::IFF_LOWER_UP != 0,
            changes: attribute(attributes, IFLA_CARRIER_CHANGES)
                .and_then(|value| word(value, 0))
                .unwrap_or(0),
        },
    ))
}

/// The value of the first attribute of this kind.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (length, kind) = (usize::from(half(attributes, 0)?), half(attributes, 2)?);
        let value = attributes.get(4..length)?;
        if kind == wanted {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*four))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*two))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            each(&bytes, &mut |_, _| ());
        }
    }

    #[test]
    fn an_error_is_told_with_its_number() {
        let mut bytes = 36u32.to_ne_bytes().to_vec();
        bytes.extend((libc::NLMSG_ERROR as u16).to_ne_bytes());
        bytes.extend([0; 2]);
        bytes.extend(QUESTION.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend((-libc::ENODEV).to_ne_bytes());
        bytes.resize(36, 0);
        let mut told = Vec::new();
        each(&bytes, &mut |one, asked| told.push((one, asked)));
        assert_eq!(told, [(Err(libc::ENODEV), true)]);
    }
}
