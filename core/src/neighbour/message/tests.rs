//! Tests of `message`: properties over arbitrary bytes, and frames that others made.

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

/// Frames that are nearly right: the bytes that decide are right more often than by chance.
fn likely() -> impl Strategy<Value = Vec<u8>> {
    let valid = (party(), party(), any::<bool>()).prop_filter_map("versions", |(a, b, asks)| {
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
