//! Reads and writes frames of ARP (RFC 826) and IPv6 neighbour discovery (RFC 4861).
//!
//! Received bytes may come from any sender, so reading never panics, and a frame that the RFCs tell a host to ignore
//! is ignored. This file knows no table and no socket.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub type Mac = [u8; 6];

/// A neighbour with its MAC address and its IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party {
    pub mac: Mac,
    pub ip: IpAddr,
}

/// The content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A request for the MAC address of `target`. The address of the asker is unspecified in duplicate address
    /// detection.
    Ask { asker: Party, target: IpAddr },
    /// An answer or announcement of a neighbour.
    Tell(Party),
}

const ETHERNET: usize = 14;
/// Where the type is, and so the tag.
const ETHERTYPE: usize = 12;
const ETHERTYPE_ARP: [u8; 2] = [0x08, 0x06];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xDD];
/// Hardware Ethernet, protocol IPv4, and their addresses' lengths.
const ARP_KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];
const ARP: usize = 28;
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const IPV6: usize = 40;
const ICMPV6: u8 = 58;
/// RFC 4861 §7.1.1: a smaller hop limit means that a router forwarded the packet, so that it does not come from a
/// neighbour.
const HOP_LIMIT: u8 = 255;
pub const SOLICITATION: u8 = 135;
pub const ADVERTISEMENT: u8 = 136;
/// Type, code, checksum, flags and target (RFC 4861 §4.3, §4.4).
const DISCOVERY: usize = 24;
const SOURCE_LINK_LAYER: u8 = 1;
const TARGET_LINK_LAYER: u8 = 2;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
const BROADCAST: Mac = [0xFF; 6];
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
/// Length of the shortest frame without FCS (IEEE 802.3 §3.2.7).
const SHORTEST_FRAME: usize = 60;

/// Reads a frame without FCS and without VLAN tags; None for every frame that a host ignores.
pub fn read(frame: &[u8]) -> Option<Message> {
    let (header, payload) = frame.split_at_checked(ETHERNET)?;
    let source = array(header, 6)?;
    match array(header, 12)? {
        ETHERTYPE_ARP => read_arp(payload),
        ETHERTYPE_IPV6 => read_discovery(source, payload),
        _ => None,
    }
}

fn read_arp(packet: &[u8]) -> Option<Message> {
    if array(packet, 0)? != ARP_KIND {
        return None;
    }
    let address = |at| Some(Ipv4Addr::from(array::<4>(packet, at)?));
    let [_, operation] = array(packet, 6)?;
    let (mac, ip, target) = (array(packet, 8)?, address(14)?, address(24)?);
    if !is_unicast(mac) || ip.is_multicast() || ip.is_broadcast() {
        return None;
    }
    let sender = Party {
        mac,
        ip: IpAddr::V4(ip),
    };
    match operation {
        // A request for one's own address is an announcement (RFC 5227 §3).
        REQUEST if ip != target => Some(Message::Ask {
            asker: sender,
            target: IpAddr::V4(target),
        }),
        REPLY if !ip.is_unspecified() => Some(Message::Tell(sender)),
        _ => None,
    }
}

/// Reads and validates a neighbour discovery packet (RFC 4861 §7.1.1, §7.1.2).
fn read_discovery(source_mac: Mac, packet: &[u8]) -> Option<Message> {
    let (header, rest) = packet.split_at_checked(IPV6)?;
    let length = usize::from(u16::from_be_bytes(array(header, 4)?));
    let message = rest.get(..length)?;
    let [next, hops] = array(header, 6)?;
    let source = Ipv6Addr::from(array::<16>(header, 8)?);
    let destination = Ipv6Addr::from(array::<16>(header, 24)?);
    let fixed: [u8; DISCOVERY] = array(message, 0)?;
    let target = Ipv6Addr::from(array::<16>(message, 8)?);
    let sound = header[0] >> 4 == 6
        && next == ICMPV6
        && hops == HOP_LIMIT
        && fixed[1] == 0
        && !target.is_multicast()
        && !source.is_multicast()
        && checksum(source, destination, message) == 0;
    if !sound {
        return None;
    }
    let options = Options::read(message.get(DISCOVERY..)?)?;
    match fixed[0] {
        SOLICITATION if source.is_unspecified() => {
            let allowed = options.source.is_none() && destination == solicited_node(target);
            allowed.then_some(Message::Ask {
                asker: Party {
                    mac: source_mac,
                    ip: IpAddr::V6(source),
                },
                target: IpAddr::V6(target),
            })
        }
        SOLICITATION => {
            let mac = options.source.unwrap_or(source_mac);
            is_unicast(mac).then_some(Message::Ask {
                asker: Party {
                    mac,
                    ip: IpAddr::V6(source),
                },
                target: IpAddr::V6(target),
            })
        }
        ADVERTISEMENT => {
            let claims_solicited = fixed[4] & SOLICITED != 0 && destination.is_multicast();
            let mac = options.target.unwrap_or(source_mac);
            (is_unicast(mac) && !claims_solicited).then_some(Message::Tell(Party {
                mac,
                ip: IpAddr::V6(target),
            }))
        }
        _ => None,
    }
}

#[derive(Default)]
struct Options {
    source: Option<Mac>,
    target: Option<Mac>,
}

impl Options {
    /// Reads options (RFC 4861 §4.6): type, then length in units of 8 bytes, which must not be zero.
    fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut options = Options::default();
        while !bytes.is_empty() {
            let [kind, units] = array(bytes, 0)?;
            let (option, rest) = bytes.split_at_checked(usize::from(units) * 8)?;
            if units == 0 {
                return None;
            }
            match kind {
                SOURCE_LINK_LAYER => options.source = array(option, 2),
                TARGET_LINK_LAYER => options.target = array(option, 2),
                _ => {}
            }
            bytes = rest;
        }
        Some(options)
    }
}

/// The frame with a tag (IEEE 802.1Q) of this VLAN; without a VLAN as it is.
pub fn tagged(mut frame: Vec<u8>, vlan: Option<u16>) -> Vec<u8> {
    if let Some(vlan) = vlan {
        let [high, low] = vlan.to_be_bytes();
        let tag = [0x81, 0x00, high, low];
        frame.splice(ETHERTYPE..ETHERTYPE, tag);
    }
    frame
}

/// The request of `from` for the MAC address of `target`; None if the two are not of one IP version.
pub fn ask(from: Party, target: IpAddr) -> Option<Vec<u8>> {
    match (from.ip, target) {
        (IpAddr::V4(ip), IpAddr::V4(target)) => {
            Some(arp(BROADCAST, REQUEST, (from.mac, ip), ([0; 6], target)))
        }
        (IpAddr::V6(ip), IpAddr::V6(target)) => {
            let group = solicited_node(target);
            let [.., a, b, c, d] = group.octets();
            let to = ([0x33, 0x33, a, b, c, d], group);
            let option = (SOURCE_LINK_LAYER, from.mac);
            Some(discovery(
                (from.mac, ip),
                to,
                (SOLICITATION, 0),
                target,
                option,
            ))
        }
        _ => None,
    }
}

/// The frame by which `me` answers `asker`; None if the two are not of one IP version.
pub fn answer(me: Party, asker: Party) -> Option<Vec<u8>> {
    match (me.ip, asker.ip) {
        (IpAddr::V4(ip), IpAddr::V4(to)) => {
            Some(arp(asker.mac, REPLY, (me.mac, ip), (asker.mac, to)))
        }
        (IpAddr::V6(ip), IpAddr::V6(to)) => {
            // RFC 4861 §7.2.4: an asker without an address gets an answer to all nodes.
            let (to, flags) = if to.is_unspecified() {
                (([0x33, 0x33, 0, 0, 0, 1], ALL_NODES), OVERRIDE)
            } else {
                ((asker.mac, to), SOLICITED | OVERRIDE)
            };
            let option = (TARGET_LINK_LAYER, me.mac);
            Some(discovery(
                (me.mac, ip),
                to,
                (ADVERTISEMENT, flags),
                ip,
                option,
            ))
        }
        _ => None,
    }
}

fn arp(to: Mac, operation: u8, sender: (Mac, Ipv4Addr), target: (Mac, Ipv4Addr)) -> Vec<u8> {
    let mut frame = ethernet(to, sender.0, ETHERTYPE_ARP);
    frame.extend(ARP_KIND);
    frame.extend([0, operation]);
    for (mac, ip) in [sender, target] {
        frame.extend(mac);
        frame.extend(ip.octets());
    }
    debug_assert_eq!(frame.len(), ETHERNET + ARP);
    frame.resize(SHORTEST_FRAME, 0);
    frame
}

fn discovery(
    from: (Mac, Ipv6Addr),
    to: (Mac, Ipv6Addr),
    (kind, flags): (u8, u8),
    target: Ipv6Addr,
    (option, mac): (u8, Mac),
) -> Vec<u8> {
    let mut message = vec![kind, 0, 0, 0, flags, 0, 0, 0];
    message.extend(target.octets());
    message.extend([option, 1]);
    message.extend(mac);
    let sum = checksum(from.1, to.1, &message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut frame = ethernet(to.0, from.0, ETHERTYPE_IPV6);
    frame.extend([0x60, 0, 0, 0]);
    frame.extend((message.len() as u16).to_be_bytes());
    frame.extend([ICMPV6, HOP_LIMIT]);
    frame.extend(from.1.octets());
    frame.extend(to.1.octets());
    frame.extend(message);
    frame
}

fn ethernet(to: Mac, from: Mac, ethertype: [u8; 2]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(ETHERNET + IPV6 + DISCOVERY + 8);
    frame.extend(to);
    frame.extend(from);
    frame.extend(ethertype);
    frame
}

/// The solicited-node address of `ip` (RFC 4291 §2.7.1).
fn solicited_node(ip: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = ip.octets();
    Ipv6Addr::from([0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, a, b, c])
}

/// The checksum of RFC 4443 §2.3 over the pseudo header of RFC 8200 §8.1: zero for a message with a correct checksum.
fn checksum(source: Ipv6Addr, destination: Ipv6Addr, message: &[u8]) -> u16 {
    let pairs = |bytes: &[u8]| -> u64 {
        bytes
            .chunks(2)
            .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)))
            .sum()
    };
    let addresses = pairs(&source.octets()) + pairs(&destination.octets());
    let mut sum = addresses + pairs(message) + message.len() as u64 + u64::from(ICMPV6);
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

fn is_unicast(mac: Mac) -> bool {
    mac[0] & 1 == 0 && mac != [0; 6]
}

fn array<const LENGTH: usize>(bytes: &[u8], at: usize) -> Option<[u8; LENGTH]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    //! Properties over arbitrary bytes, and frames that other software made.

    use super::*;
    use proptest::prelude::*;

    fn party() -> impl Strategy<Value = Party> {
        let mac = any::<Mac>().prop_map(|mut mac| {
            mac[0] = mac[0] & 0xFC | 2;
            mac
        });
        let unicast = prop_oneof![
            (1u8..224, any::<[u8; 3]>()).prop_map(|(a, [b, c, d])| IpAddr::from([a, b, c, d])),
            (0x2001u16..0xFE80, any::<[u16; 7]>())
                .prop_map(|(a, [b, c, d, e, f, g, h])| IpAddr::from([a, b, c, d, e, f, g, h])),
        ];
        (mac, unicast).prop_map(|(mac, ip)| Party { mac, ip })
    }

    /// Frames that are almost valid: the bytes that decide are right more often than by chance.
    fn likely() -> impl Strategy<Value = Vec<u8>> {
        let valid =
            (party(), party(), any::<bool>()).prop_filter_map("versions", |(a, b, asks)| {
                if asks { ask(a, b.ip) } else { answer(a, b) }
            });
        let flips = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
        (valid, flips, 0usize..100).prop_map(|(mut frame, flips, cut)| {
            for (at, byte) in flips {
                *at.get_mut(&mut frame) = byte;
            }
            frame.truncate(cut);
            frame
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn no_bytes_make_it_panic(frame in proptest::collection::vec(any::<u8>(), 0..128)) {
            let _ = read(&frame);
        }

        #[test]
        fn no_nearly_right_bytes_make_it_panic(frame in likely()) {
            let _ = read(&frame);
        }

        #[test]
        fn what_is_written_is_read_again(a in party(), b in party()) {
            prop_assume!(a.ip != b.ip);
            match ask(a, b.ip) {
                Some(frame) => prop_assert_eq!(read(&frame), Some(Message::Ask { asker: a, target: b.ip })),
                None => prop_assert_ne!(a.ip.is_ipv4(), b.ip.is_ipv4()),
            }
            if let Some(frame) = answer(a, b) {
                prop_assert_eq!(read(&frame), Some(Message::Tell(a)));
            }
        }

        #[test]
        fn a_wrong_byte_of_a_discovery_is_never_believed(ip in 1u128..=u128::MAX >> 8, at in 54usize..86, by in 1u8..) {
            let a = Party { mac: DUT, ip: IpAddr::V6(Ipv6Addr::from_bits(ip)) };
            let mut frame = answer(a, a).unwrap();
            frame[at] ^= by;
            prop_assert_eq!(read(&frame), None);
        }
    }

    // Made by Scapy: ARP(op=1); ICMPv6ND_NS()/ICMPv6NDOptSrcLLAddr(); ICMPv6ND_NA(S=1, O=1)/ICMPv6NDOptDstLLAddr().
    const ARP_FROM_SCAPY: &str =
        "ffffffffffff026b7300010108060001080006040001026b73000101c6126301000000000000c6126305";

    const SOLICITATION_FROM_SCAPY: &str = "3333ff000005026b7300010186dd6000000000203aff20010002000000630000000000000001ff0200000000000000000001ff0000058700c25b00000000200100020000006300000000000000050101026b73000101";
    const ADVERTISEMENT_FROM_SCAPY: &str = "026b7300010102000000000586dd6000000000203aff20010002000000630000000000000005200100020000006300000000000000018800b26160000000200100020000006300000000000000050201020000000005";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().chunks(2);
        digits
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    const DUT: Mac = [0x02, 0x6B, 0x73, 0, 1, 1];

    #[test]
    fn frames_made_by_scapy_are_understood() {
        let asker = Party {
            mac: DUT,
            ip: IpAddr::from([198, 18, 99, 1]),
        };
        let target = IpAddr::from([198, 18, 99, 5]);
        let frame = bytes(ARP_FROM_SCAPY);
        assert_eq!(read(&frame), Some(Message::Ask { asker, target }));
        assert_eq!(ask(asker, target).unwrap()[..frame.len()], frame);
        let solicitation = bytes(SOLICITATION_FROM_SCAPY);
        let asker = Party {
            mac: DUT,
            ip: "2001:2:0:63::1".parse().unwrap(),
        };
        let target = "2001:2:0:63::5".parse().unwrap();
        assert_eq!(read(&solicitation), Some(Message::Ask { asker, target }));
        assert_eq!(ask(asker, target).unwrap(), solicitation);
        let me = Party {
            mac: [0x02, 0, 0, 0, 0, 5],
            ip: target,
        };
        assert_eq!(answer(me, asker).unwrap(), bytes(ADVERTISEMENT_FROM_SCAPY));
    }

    #[test]
    fn who_asks_whether_an_address_is_free_is_told_with_all_others() {
        let me = Party {
            mac: DUT,
            ip: "2001:2::5".parse().unwrap(),
        };
        let asker = Party {
            mac: [2, 0, 0, 0, 0, 9],
            ip: IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let frame = answer(me, asker).unwrap();
        assert_eq!(frame[..6], [0x33, 0x33, 0, 0, 0, 1]);
        assert_eq!(frame[58], OVERRIDE);
        assert_eq!(read(&frame), Some(Message::Tell(me)));
        let probe = Party {
            mac: asker.mac,
            ip: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        };
        let target = IpAddr::from([198, 18, 0, 1]);
        let question = ask(probe, target).unwrap();
        assert_eq!(
            read(&question),
            Some(Message::Ask {
                asker: probe,
                target
            })
        );
        let announcement = Party {
            mac: DUT,
            ip: target,
        };
        assert_eq!(read(&ask(announcement, target).unwrap()), None);
    }
}
