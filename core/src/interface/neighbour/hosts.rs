//! The tester's hosts: which MAC address answers for which IP addresses. This file holds a table and never sends.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::Deserialize;

use super::message::Mac;

/// One host or a range of hosts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// MAC address of the first IP address, such as "02:00:00:00:00:01".
    pub mac: String,
    pub first: IpAddr,
    /// The last address of the range; absent: `first` alone.
    pub last: Option<IpAddr>,
    /// What each further address adds to the MAC address; 0: all have the same.
    #[serde(default)]
    pub mac_step: u64,
    /// Number of the VLAN that it is in; absent: its frames have no tag.
    #[serde(default)]
    pub vlan: Option<u16>,
}

struct Range {
    first: u128,
    last: u128,
    mac: u64,
    mac_step: u64,
}

/// All hosts of a port, by VLAN.
#[derive(Default)]
pub struct Hosts(HashMap<Option<u16>, Lan>);

/// All hosts of a VLAN, sorted by address, with a table for each IP version.
#[derive(Default)]
struct Lan {
    v4: Vec<Range>,
    v6: Vec<Range>,
}

const HIGHEST_MAC: u128 = (1 << 48) - 1;
const HIGHEST_VLAN: u16 = 4094;

impl Hosts {
    /// Says in one sentence what is wrong with the hosts, if something is.
    pub fn new(hosts: &[Host]) -> Result<Self, String> {
        let mut own = Hosts::default();
        for host in hosts {
            if host.vlan.is_some_and(|vlan| vlan > HIGHEST_VLAN) {
                return Err(format!("{} has a VLAN above {HIGHEST_VLAN}", host.first));
            }
            let (first, last) = (host.first, host.last.unwrap_or(host.first));
            let mac = parse_mac(&host.mac)?;
            let range = Range {
                first: number(first),
                last: number(last),
                mac: mac_number(mac),
                mac_step: host.mac_step,
            };
            if first.is_ipv4() != last.is_ipv4() || range.last < range.first {
                return Err(format!("{first} to {last} is no range of addresses"));
            }
            if first.is_multicast() || last.is_multicast() || mac[0] & 1 == 1 {
                return Err(format!("{first} at {} is no host: it is a group", host.mac));
            }
            let steps = (range.last - range.first).checked_mul(u128::from(range.mac_step));
            if steps.is_none_or(|steps| u128::from(range.mac) + steps > HIGHEST_MAC) {
                return Err(format!(
                    "{first} to {last} with steps of {} need more MAC addresses than there are",
                    range.mac_step
                ));
            }
            let lan = own.0.entry(host.vlan).or_default();
            lan.of_version_mut(first).push(range);
        }
        for lan in own.0.values_mut() {
            for (ranges, is_v4) in [(&mut lan.v4, true), (&mut lan.v6, false)] {
                ranges.sort_by_key(|range| range.first);
                if let Some(pair) = ranges.windows(2).find(|pair| pair[1].first <= pair[0].last) {
                    return Err(format!("{} has two hosts", address(pair[1].first, is_v4)));
                }
            }
        }
        Ok(own)
    }

    /// The MAC address that answers for `ip` in a VLAN; None if no host of the tester has that address there.
    pub fn mac_of(&self, ip: IpAddr, vlan: Option<u16>) -> Option<Mac> {
        let (ranges, wanted) = (self.0.get(&vlan)?.of_version(ip), number(ip));
        let after = ranges.partition_point(|range| range.first <= wanted);
        let range = &ranges[after.checked_sub(1)?];
        let step = u64::try_from(wanted - range.first).ok();
        (wanted <= range.last).then(|| match range.mac_step {
            0 => mac_bytes(range.mac),
            by => mac_bytes(range.mac + step.unwrap_or(0) * by),
        })
    }

    /// Whether any host has another MAC address than `own`.
    pub fn beyond(&self, own: Mac) -> bool {
        let mut ranges = self.0.values().flat_map(|lan| lan.v4.iter().chain(&lan.v6));
        ranges.any(|range| range.mac_step != 0 || range.mac != mac_number(own))
    }
}

impl Lan {
    fn of_version(&self, ip: IpAddr) -> &[Range] {
        if ip.is_ipv4() { &self.v4 } else { &self.v6 }
    }

    fn of_version_mut(&mut self, ip: IpAddr) -> &mut Vec<Range> {
        if ip.is_ipv4() {
            &mut self.v4
        } else {
            &mut self.v6
        }
    }
}

pub fn parse_mac(text: &str) -> Result<Mac, String> {
    let parts = text.split(':').map(|part| {
        let plain = part.bytes().all(|digit| digit.is_ascii_hexdigit());
        u8::from_str_radix(part, 16).ok().filter(|_| plain)
    });
    let bytes: Option<Vec<u8>> = parts.collect();
    let mac = bytes.and_then(|bytes| Mac::try_from(bytes).ok());
    mac.ok_or_else(|| format!("{text:?} is no MAC address"))
}

pub fn mac_text(mac: Mac) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

fn address(number: u128, is_v4: bool) -> IpAddr {
    if is_v4 {
        IpAddr::V4(Ipv4Addr::from_bits(number as u32))
    } else {
        IpAddr::V6(Ipv6Addr::from_bits(number))
    }
}

fn mac_number(mac: Mac) -> u64 {
    mac.iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn mac_bytes(number: u64) -> Mac {
    let [_, _, mac @ ..] = number.to_be_bytes();
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(json: &str) -> Result<Hosts, String> {
        Hosts::new(&serde_json::from_str::<Vec<Host>>(json).unwrap())
    }

    fn mac(hosts: &Hosts, ip: &str) -> Option<String> {
        hosts.mac_of(ip.parse().unwrap(), None).map(mac_text)
    }

    #[test]
    fn each_address_of_a_range_has_its_host() {
        let hosts = hosts(
            r#"[{"mac": "02:00:00:00:00:fe", "first": "198.18.0.1", "last": "198.18.0.9", "mac_step": 1},
                {"mac": "02:0:0:0:0:1", "first": "10.0.0.1"},
                {"mac": "02:00:00:00:00:02", "first": "2001:2::", "last": "2001:2::ffff:ffff:ffff:ffff"}]"#,
        )
        .unwrap();
        let cases = [
            ("198.18.0.1", Some("02:00:00:00:00:fe")),
            ("198.18.0.3", Some("02:00:00:00:01:00")),
            ("198.18.0.0", None),
            ("198.18.0.10", None),
            ("10.0.0.1", Some("02:00:00:00:00:01")),
            ("9.0.0.1", None),
            ("2001:2::77", Some("02:00:00:00:00:02")),
            ("2001:3::", None),
            ("::a00:1", None),
        ];
        for (ip, expected) in cases {
            assert_eq!(mac(&hosts, ip).as_deref(), expected, "{ip}");
        }
        assert!(hosts.beyond(parse_mac("02:00:00:00:00:01").unwrap()));
    }

    #[test]
    fn what_is_no_host_is_refused_by_name() {
        let cases = [
            (r#"[{"mac": "02:00", "first": "10.0.0.1"}]"#, "no MAC"),
            (
                r#"[{"mac": "02:00:00:00:00:+1", "first": "10.0.0.1"}]"#,
                "no MAC",
            ),
            (
                r#"[{"mac": "01:00:00:00:00:01", "first": "10.0.0.1"}]"#,
                "group",
            ),
            (
                r#"[{"mac": "02:00:00:00:00:01", "first": "224.0.0.1"}]"#,
                "group",
            ),
            (
                r#"[{"mac": "02:00:00:00:00:01", "first": "10.0.0.2", "last": "10.0.0.1"}]"#,
                "no range",
            ),
            (
                r#"[{"mac": "02:00:00:00:00:01", "first": "10.0.0.2", "last": "::1"}]"#,
                "no range",
            ),
            (
                r#"[{"mac": "02:00:00:00:00:01", "first": "::", "last": "fe::", "mac_step": 1}]"#,
                "more MAC addresses",
            ),
            (
                r#"[{"mac": "02:00:00:00:00:01", "first": "10.0.0.1", "last": "10.0.0.5"},
                    {"mac": "02:00:00:00:00:02", "first": "10.0.0.5"}]"#,
                "10.0.0.5 has two hosts",
            ),
        ];
        for (json, problem) in cases {
            let refusal = hosts(json).err().unwrap();
            assert!(refusal.contains(problem), "{refusal}");
        }
    }
}
