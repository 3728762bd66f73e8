//! `InterfaceSetting`: MTU and offloads of one interface, changed for a measurement and set back at its end. The interface with
//! the default route is never touched.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::ethtool::{self, OFFLOADS};
use super::link_rate::interface_of;
use super::{journal, netlink};
use crate::two_ended::peer::Peer;

/// Values by name: `mtu` in bytes, and offloads, 0 or 1.
pub type Values = BTreeMap<String, i64>;

/// What was set of the interface towards a peer; dropping it sets all back.
pub struct InterfaceSetting {
    interface: String,
    before: Values,
    entry: PathBuf,
}

impl InterfaceSetting {
    /// Notes what is set now of the interface towards `peer`. `namespace` is the path of this one, as the journal names it.
    pub fn of(peer: Peer, namespace: Option<&str>) -> Result<Self, String> {
        let index = interface_of(peer)
            .ok_or_else(|| format!("there is no route to {peer}; check the routes"))?;
        let interface = ethtool::name_of(index)
            .ok_or_else(|| format!("there is no route to {peer}; check the routes"))?;
        let roads = netlink::default_routes()
            .map_err(|error| format!("routes cannot be read: {error}; check them"))?;
        if roads.contains(&index) {
            return Err(format!(
                "{interface} has the default route: its settings are not changed; use another interface"
            ));
        }
        let before = settings(&interface);
        let inode = std::fs::metadata("/proc/thread-self/ns/net").map_or(0, |found| found.ino());
        let shown: serde_json::Map<String, Value> = before
            .iter()
            .map(|(name, value)| match name.as_str() {
                "mtu" => (name.clone(), json!(value)),
                _ => (name.clone(), json!(*value != 0)),
            })
            .collect();
        let entry = journal::record(&json!({
            "action": "settings",
            "interface": {"name": interface, "namespace": namespace, "index": index, "inode": inode},
            "before": shown,
        }))?;
        Ok(InterfaceSetting {
            interface,
            before,
            entry,
        })
    }

    /// Sets what is named; what was set before and is not named is set back.
    pub fn set(&self, values: &Values) -> Result<(), String> {
        let mut wanted = self.before.clone();
        wanted.extend(values.clone());
        change(&self.interface, &wanted)
    }
}

impl Drop for InterfaceSetting {
    fn drop(&mut self) {
        // What cannot be set back stays in the journal.
        if change(&self.interface, &self.before).is_ok() {
            journal::forget(&self.entry);
        }
    }
}

fn settings(interface: &str) -> Values {
    let mut found = Values::new();
    if let Ok(bytes) = ethtool::mtu(interface) {
        found.insert("mtu".into(), i64::from(bytes));
    }
    for (name, get, _) in OFFLOADS {
        if let Some(on) = ethtool::offload(interface, get) {
            found.insert(name.into(), i64::from(on));
        }
    }
    found
}

/// Sets the values that differ.
fn change(interface: &str, wanted: &Values) -> Result<(), String> {
    let now = settings(interface);
    for (name, value) in wanted
        .iter()
        .filter(|(name, value)| now.get(*name) != Some(*value))
    {
        if name == "mtu" {
            let bytes = i32::try_from(*value).unwrap_or(-1);
            ethtool::set_mtu(interface, bytes).map_err(|_| {
                format!("{interface} refuses an MTU of {value} byte; give another one")
            })?;
        } else if let Some((_, _, set)) = OFFLOADS.iter().find(|(known, ..)| known == name) {
            let how = if *value != 0 { "on" } else { "off" };
            ethtool::set_offload(interface, *set, *value != 0)
                .map_err(|_| format!("{interface} refuses {name} {how}; leave that factor out"))?;
        }
    }
    Ok(())
}
