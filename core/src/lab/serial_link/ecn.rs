//! Explicit congestion notification in an IP packet (RFC 3168 §5, §23.1): whether it can be marked, and the mark.

const CE: u8 = 3;

/// True if its sender understands marks: ECT(0), ECT(1) or CE.
pub fn is_capable(packet: &[u8]) -> bool {
    match packet {
        [first, second, ..] if first >> 4 == 4 => second & CE != 0,
        [first, second, ..] if first >> 4 == 6 => second & CE << 4 != 0,
        _ => false,
    }
}

/// Writes CE into a packet that can be marked, and corrects the checksum of an IPv4 header (RFC 1624 §3).
pub fn mark(packet: &mut [u8]) {
    match packet.first().map(|first| first >> 4) {
        Some(6) if packet.len() > 1 => packet[1] |= CE << 4,
        Some(4) if packet.len() >= 20 => {
            let more = u32::from(CE & !packet[1]);
            packet[1] |= CE;
            let checksum = u16::from_be_bytes([packet[10], packet[11]]);
            let sum = u32::from(!checksum) + more;
            let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(header: &[u8]) -> u32 {
        let words = header.chunks_exact(2);
        let words = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        words.fold(0, |sum, word| {
            ((sum + word) & 0xffff) + ((sum + word) >> 16)
        })
    }

    proptest! {
        #[test]
        fn a_marked_ipv4_header_has_a_right_checksum(rest in prop::collection::vec(any::<u8>(), 18), tos: u8) {
            let mut packet = [&[0x45, tos], &rest[..]].concat();
            packet[10..12].fill(0);
            let checksum = !(sum(&packet) as u16);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            let before = packet.clone();
            mark(&mut packet);
            prop_assert_eq!(packet[1], tos | CE);
            prop_assert_eq!(sum(&packet), 0xffff);
            prop_assert_eq!(&packet[12..], &before[12..]);
        }
    }

    #[test]
    fn the_bits_of_ipv6_are_in_its_traffic_class() {
        let mut packet = [0x60, 0x00, 0x12, 0x34];
        assert!(!is_capable(&packet));
        packet[1] = 0x20;
        assert!(is_capable(&packet));
        mark(&mut packet);
        assert_eq!(packet, [0x60, 0x30, 0x12, 0x34]);
    }

    #[test]
    fn a_packet_that_is_no_ip_is_not_capable() {
        assert!(!is_capable(&[]) && !is_capable(&[0x45]) && !is_capable(&[0x15, 0x03]));
        assert!(!is_capable(&[0x45, 0xfc]) && is_capable(&[0x45, 0x02]));
    }
}
