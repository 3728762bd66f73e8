//! How many XDP frames the drivers of ports had no room for, as the kernel reports it (`bpf/refused.c`).
//!
//! A frame is stamped before the driver is asked, so one that it refuses looks like one that the device lost.

use std::io;
use std::os::unix::fs::MetadataExt;

use aya::maps::{HashMap, MapData};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader};

use crate::host::netns;
use crate::interface::place::Place;
use crate::port::bpf::layout::REFUSED_OBJECT;

const TRACEPOINT: &str = "xdp_devmap_xmit";
/// `struct place`: namespace and interface.
type Key = [u32; 2];

/// Counts while this value lives.
pub struct Refusals {
    counts: HashMap<MapData, Key, u64>,
    /// Of each port; `None` if its refusals are not to be counted.
    keys: Vec<Option<Key>>,
    _program: Ebpf,
}

impl Refusals {
    /// `None` if no port wants them to be counted, or if the kernel cannot report them (without BTF).
    pub fn open(places: &[Place], indices: &[u32]) -> Option<Self> {
        if !places.iter().any(|place| place.counts_refusals) {
            return None;
        }
        Self::load(places, indices).ok()
    }

    fn load(places: &[Place], indices: &[u32]) -> io::Result<Self> {
        let btf = Btf::from_sys_fs().map_err(io::Error::other)?;
        let mut object = EbpfLoader::new()
            .btf(Some(&btf))
            .load(REFUSED_OBJECT)
            .map_err(io::Error::other)?;
        let absent = || io::Error::other("it is not in the object");
        let counts = object.take_map("refused").ok_or_else(absent)?;
        let mut counts: HashMap<MapData, Key, u64> =
            HashMap::try_from(counts).map_err(io::Error::other)?;
        let mut keys = Vec::new();
        for (place, index) in places.iter().zip(indices) {
            let key = place.counts_refusals.then_some([inode(place)?, *index]);
            if let Some(key) = key {
                counts.insert(key, 0, 0).map_err(io::Error::other)?;
            }
            keys.push(key);
        }
        let program = object.program_mut("count_refused").ok_or_else(absent)?;
        let program: &mut BtfTracePoint = program.try_into().map_err(io::Error::other)?;
        program.load(TRACEPOINT, &btf).map_err(io::Error::other)?;
        program.attach().map_err(io::Error::other)?;
        Ok(Refusals {
            counts,
            keys,
            _program: object,
        })
    }

    /// Frames of each port since it was opened; `None` where they are not counted.
    pub fn counts(&self) -> Vec<Option<u64>> {
        let count = |key: &Option<Key>| key.and_then(|key| self.counts.get(&key, 0).ok());
        self.keys.iter().map(count).collect()
    }
}

/// The number by which the kernel knows the namespace.
fn inode(place: &Place) -> io::Result<u32> {
    netns::within(place.namespace.as_deref(), || {
        Ok(std::fs::metadata("/proc/thread-self/ns/net")?.ino() as u32)
    })
}
