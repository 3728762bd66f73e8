//! The programs at the kernel's functions, and what they counted.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use aya::maps::{HashMap, MapData};
use aya::programs::loaded_programs;
use aya::util::KernelVersion;
use aya::{Btf, Ebpf, EbpfLoader, Pod};
use aya_obj::Object;
use aya_obj::generated::bpf_prog_type::{
    BPF_PROG_TYPE_SCHED_ACT, BPF_PROG_TYPE_SCHED_CLS, BPF_PROG_TYPE_XDP,
};

use super::dropped::{Absent, Dropped, Place};
use super::tracing::{self, Event, Kernel, Link, OfKernel, Watched, text};
use super::types::{FUNCTION, TYPEDEF};
use crate::host::netns;
use crate::port::bpf::mapped::Mapped;
use crate::port::bpf::program::cause;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/drops.o"));

/// As in `drops.c`.
const DROPS: usize = 1 << 22;
const FREED: u32 = 1;
/// How programs at the tester's ports are called, whose answers are no drops (`bpf/`).
const OF_PORTS: [&str; 5] = ["transmit", "receive", "redirect", "pass", "count_refused"];
/// nftables reports the outcome of rules where any rule anywhere asks for traces.
const TRACING_RULE: &str =
    "table inet t { chain c { type filter hook input priority 0; meta nftrace set 0; }; }";
/// With it nftables hands the rule to the function that is watched.
const RULES_SINCE: KernelVersion = KernelVersion::new(6, 5, 0);

#[repr(C)]
struct Control {
    watching: u64,
    first_stream: u32,
    streams: u32,
    pad: [u8; 112],
    dropped: u64,
    unread: u64,
    unplaced: u64,
    places: u32,
    pad1: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Drop {
    stream_and_sequence: u64,
    time_and_place: u64,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Key {
    location: u64,
    chain: u64,
    rule: u64,
    namespace: u32,
    interface: u32,
    reason: u32,
    program: u32,
    kind: u32,
    pad: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Value {
    frames: u64,
    first_ns: u64,
    last_ns: u64,
    number: u32,
    family: u32,
    interface: [u8; 16],
    qdisc: [u8; 16],
    table: [u8; 32],
    chain: [u8; 32],
}

// SAFETY: integers without padding between them, any bits are valid.
unsafe impl Pod for Key {}
// SAFETY: as above.
unsafe impl Pod for Value {}

/// A program, and when it runs of which function of the kernel.
type Probe = (&'static str, Moment, &'static str);

/// The programs that watch one part of the kernel: all of them, or it is not watched. With the module that the part
/// is in where it is no part of the kernel itself.
const PARTS: [(&str, Option<&str>, &[Probe]); 4] = [
    (
        "nftables",
        Some("nf_tables"),
        &[("judged", Moment::Begin, "__nft_trace_packet")],
    ),
    (
        "redirect",
        None,
        &[("not_redirected", Moment::End, "xdp_do_redirect")],
    ),
    (
        "devmap",
        None,
        &[
            ("to_driver", Moment::Begin, "bq_xmit_all"),
            ("after_driver", Moment::End, "bq_xmit_all"),
            ("returned_frame", Moment::Begin, "xdp_return_frame"),
            (
                "returned_frame_rx",
                Moment::Begin,
                "xdp_return_frame_rx_napi",
            ),
        ],
    ),
    (
        "cpumap",
        None,
        &[
            ("to_cpu", Moment::Begin, "bq_flush_to_queue"),
            ("after_cpu", Moment::End, "bq_flush_to_queue"),
        ],
    ),
];

enum Moment {
    Begin,
    End,
}

pub struct Attached {
    object: Object,
    kernel: Kernel,
    reasons: BTreeMap<u32, String>,
    control: Mapped<Control>,
    drops: Mapped<Drop>,
    maps: Ebpf,
    absent: Vec<Absent>,
    /// That of `freed` first.
    links: Vec<Link>,
    /// `missed()` before the trial.
    missed: u64,
    /// BPF programs that others have loaded, by their numbers; those that cannot be watched have no link.
    programs: BTreeMap<u32, (Watched, Result<Link, Absent>)>,
    /// The namespace in which a rule asks for traces.
    traces: Option<File>,
}

impl Attached {
    pub fn new(ports: &[(Option<String>, String)]) -> io::Result<Self> {
        let btf = Btf::from_sys_fs().map_err(io::Error::other)?;
        let of_kernel = OfKernel::alone()?;
        let mut loader = EbpfLoader::new();
        let mut maps = loader.btf(Some(&btf)).load(OBJECT).map_err(cause)?;
        let object = tracing::fitted(OBJECT, &maps, &of_kernel)?;
        let reasons = reasons(&of_kernel)?;
        let kernel = Kernel {
            has_reasons: !reasons.is_empty(),
            dynptr_from_skb: of_kernel.types.number(FUNCTION, "bpf_dynptr_from_skb"),
        };
        let missing = || io::Error::other("a map is not in the object");
        let control = Mapped::new(maps.map("control").ok_or_else(missing)?, 1)?;
        let drops = Mapped::new(maps.map("drops").ok_or_else(missing)?, DROPS)?;
        let own = maps.map_mut("own_ports").ok_or_else(missing)?;
        let mut own = HashMap::<_, u64, u32>::try_from(own).map_err(io::Error::other)?;
        for (namespace, interface) in ports {
            let key = place_of(namespace.as_deref(), interface)?;
            own.insert(key, 1, 0).map_err(io::Error::other)?;
        }
        let mut made = Attached {
            object,
            kernel,
            reasons,
            control,
            drops,
            maps,
            absent: Vec::new(),
            links: Vec::new(),
            missed: 0,
            programs: BTreeMap::new(),
            traces: None,
        };
        made.watch(&of_kernel)?;
        Ok(made)
    }

    /// Attaches what this kernel has; only without its event of freed packets there is nothing to see.
    fn watch(&mut self, of: &OfKernel) -> io::Result<()> {
        if !self.kernel.has_reasons {
            self.absent.push(("reasons", String::new()));
        }
        let event = of.types.number(TYPEDEF, "btf_trace_kfree_skb");
        let event = Event::Tracepoint(event.ok_or(io::ErrorKind::Unsupported)?);
        // Before Linux 6.11 such a program may not ask the kernel for a packet's bytes.
        let freed =
            tracing::attach(&self.object, "freed", event, of, self.kernel).or_else(|error| {
                if self.kernel.dynptr_from_skb.take().is_none() {
                    return Err(error);
                }
                tracing::attach(&self.object, "freed", event, of, self.kernel)
            })?;
        self.links.push(freed);
        if self.kernel.dynptr_from_skb.is_none() {
            self.absent.push(("pages", String::new()));
        }
        for (part, module, programs) in PARTS {
            // It loads the module, too.
            let found = match part {
                "nftables" => asks_for_traces(),
                _ => Ok(None),
            };
            let linked = found.and_then(|namespace| {
                let links = self.link_all(of, module, programs)?;
                Ok((namespace, links))
            });
            match linked {
                Ok((namespace, links)) => {
                    self.traces = namespace.or(self.traces.take());
                    self.links.extend(links);
                }
                Err(error) => self.absent.push((part, why(&error))),
            }
        }
        Ok(())
    }

    /// Attaches programs to functions of the kernel, or of this module where it has one.
    fn link_all(
        &self,
        of: &OfKernel,
        module: Option<&str>,
        programs: &[Probe],
    ) -> io::Result<Vec<Link>> {
        let of_module = module.map(|name| of.with(name)).transpose()?.flatten();
        let fitted = of_module
            .as_ref()
            .map(|of| tracing::fitted(OBJECT, &self.maps, of));
        let fitted = fitted.transpose()?;
        let of = of_module.as_ref().unwrap_or(of);
        let object = fitted.as_ref().unwrap_or(&self.object);
        let link = |(program, moment, function): &Probe| {
            let number = of.types.number(FUNCTION, function).ok_or_else(|| {
                io::Error::other(format!(
                    "this kernel has no function {function} that can be watched"
                ))
            })?;
            let event = match moment {
                Moment::Begin => Event::Begin(number),
                Moment::End => Event::End(number),
            };
            tracing::attach(object, program, event, of, self.kernel)
        };
        programs.iter().map(link).collect()
    }

    /// Counts what becomes of frames of these streams from now on.
    pub fn begin(&mut self, first_stream: u16, streams: u32) -> io::Result<()> {
        self.watch_programs();
        let mut places = self.places()?;
        let keys: Vec<Key> = places.keys().filter_map(Result::ok).collect();
        for key in keys {
            places.remove(&key).map_err(io::Error::other)?;
        }
        let control = self.control.at(0);
        // SAFETY: inside the mapping; no program writes while nothing is watched.
        unsafe {
            (*control).first_stream = u32::from(first_stream);
            (*control).streams = streams;
            ((*control).dropped, (*control).unread) = (0, 0);
            ((*control).unplaced, (*control).places) = (0, 0);
        }
        self.missed = self.missed()?;
        self.control.store(offset_of!(Control, watching), 1);
        Ok(())
    }

    /// What was dropped since then, and the first of it as bytes: each the stream and number, and the time and
    /// number of the place, as `drops.c` writes them.
    pub fn end(&mut self) -> io::Result<(Dropped, &[u8])> {
        self.control.store(offset_of!(Control, watching), 0);
        let read = |offset| self.control.load(offset);
        let frames = read(offset_of!(Control, dropped));
        let missed = self.missed()? - self.missed;
        let unread = read(offset_of!(Control, unread)) + missed;
        let unplaced = read(offset_of!(Control, unplaced));
        let mut absent = self.absent.clone();
        let deaf = self
            .programs
            .values()
            .filter_map(|(_, link)| link.as_ref().err());
        absent.extend(deaf.cloned());
        absent.sort();
        absent.dedup();
        let found: Vec<_> = self.places()?.iter().filter_map(Result::ok).collect();
        let mut places: Vec<_> = found
            .iter()
            .map(|(key, value)| self.place(key, value))
            .collect();
        places.sort_by_key(|place| place.number);
        let kept = (frames as usize).min(DROPS) * size_of::<Drop>();
        // SAFETY: inside the mapping; the programs write no more, as nothing is watched.
        let drops = unsafe { std::slice::from_raw_parts(self.drops.at(0).cast::<u8>(), kept) };
        let dropped = Dropped {
            places,
            frames,
            unread,
            unplaced,
            absent,
        };
        Ok((dropped, drops))
    }

    /// Freed packets that were not looked at so far.
    fn missed(&self) -> io::Result<u64> {
        self.links.first().map_or(Ok(0), Link::missed)
    }

    fn places(&mut self) -> io::Result<HashMap<&mut MapData, Key, Value>> {
        let map = self.maps.map_mut("places").ok_or(io::ErrorKind::NotFound)?;
        HashMap::try_from(map).map_err(io::Error::other)
    }

    fn place(&self, key: &Key, value: &Value) -> Place {
        let named = self.reasons.get(&key.reason).filter(|_| key.kind == FREED);
        let program = self.programs.get(&key.program);
        Place {
            number: value.number,
            kind: key.kind,
            location: key.location,
            reason: named.cloned().unwrap_or_else(|| key.reason.to_string()),
            namespace: key.namespace,
            interface: key.interface,
            name: text(&value.interface),
            qdisc: text(&value.qdisc),
            rule: (key.chain != 0).then(|| {
                (
                    value.family,
                    text(&value.table),
                    text(&value.chain),
                    key.rule,
                )
            }),
            program: program.map(|(watched, _)| (watched.name.clone(), watched.line.clone())),
            frames: value.frames,
            first_ns: value.first_ns,
            last_ns: value.last_ns,
        }
    }

    /// Attaches to the programs of XDP and tc that there are now, and lets go of those that are gone.
    fn watch_programs(&mut self) {
        let own = own_programs();
        let mut there = HashSet::new();
        for program in loaded_programs().flatten() {
            let number = program.id();
            let name = match program.program_type() {
                BPF_PROG_TYPE_XDP => "ended_xdp",
                BPF_PROG_TYPE_SCHED_CLS | BPF_PROG_TYPE_SCHED_ACT => "ended_tc",
                _ => continue,
            };
            let of_port = program
                .name_as_str()
                .is_some_and(|name| OF_PORTS.contains(&name));
            if of_port && own.contains(&number) {
                continue;
            }
            there.insert(number);
            if self.programs.contains_key(&number) {
                continue;
            }
            let Ok(fd) = program.fd() else { continue };
            let short = program.name_as_str().unwrap_or_default().to_owned();
            let made = match tracing::described(&fd) {
                Ok(Some(watched)) => {
                    let link =
                        tracing::attach_to(&self.object, name, &fd, number, &watched, self.kernel);
                    (watched, link.map_err(|error| ("programs", why(&error))))
                }
                _ => (
                    Watched::without_types(short.clone()),
                    Err(("program", short)),
                ),
            };
            self.programs.insert(number, made);
        }
        self.programs.retain(|number, _| there.contains(number));
    }
}

/// Why packets are freed, by the numbers of the reasons: none before Linux 5.17. Open vSwitch has its own.
fn reasons(of: &OfKernel) -> io::Result<BTreeMap<u32, String>> {
    let mut found: BTreeMap<_, _> = of
        .types
        .enumerators("skb_drop_reason")
        .into_iter()
        .collect();
    let of_module = of.with("openvswitch")?;
    let types = &of_module.as_ref().unwrap_or(of).types;
    found.extend(types.enumerators("ovs_drop_reason"));
    Ok(found)
}

/// Numbers of the programs that this process holds open.
fn own_programs() -> HashSet<u32> {
    let files = std::fs::read_dir("/proc/self/fdinfo")
        .into_iter()
        .flatten()
        .flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    let number = |text: String| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("prog_id:"))?;
        line.trim().parse().ok()
    };
    texts.filter_map(number).collect()
}

/// Lets nftables report the outcome of rules, by a rule in a namespace that nobody else sees and that ends with the
/// file returned.
fn asks_for_traces() -> io::Result<Option<File>> {
    if KernelVersion::current().map_err(io::Error::other)? < RULES_SINCE {
        return Err(io::Error::other("rules are told since Linux 6.5"));
    }
    let (file, ()) = netns::within_a_new_one(|| {
        let mut nft = Command::new("nft");
        let made = nft.arg(TRACING_RULE).stderr(Stdio::null()).status()?;
        made.success()
            .then_some(())
            .ok_or_else(|| io::Error::other("nft made no rule"))
    })?;
    Ok(Some(file))
}

fn place_of(namespace: Option<&str>, interface: &str) -> io::Result<u64> {
    let name = std::ffi::CString::new(interface)?;
    netns::within(namespace, || {
        let inode = std::fs::metadata("/proc/thread-self/ns/net")?.ino();
        // SAFETY: the name is a zero-terminated string that outlives the call.
        match unsafe { libc::if_nametoindex(name.as_ptr()) } {
            0 => Err(io::Error::last_os_error()),
            index => Ok(inode << 32 | u64::from(index)),
        }
    })
}

/// Why a program was not attached.
fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "this host does not permit programs at functions of the kernel".into()
        }
        _ => error.to_string(),
    }
}
