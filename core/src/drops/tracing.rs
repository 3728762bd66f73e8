//! Loads the programs of `bpf/drops.c` and attaches each to an event, a function or a BPF program.
//!
//! The loader of other programs of the kernel (`port/bpf/program.rs`) can neither attach to a BPF program nor call a
//! function of the kernel. What is attached is removed when its value is dropped, at the latest when the process ends.

use std::ffi::CString;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use aya::maps::Map;
use aya::{Ebpf, Endianness};
use aya_obj::Object;
use aya_obj::generated::{bpf_attr, bpf_btf_info, bpf_insn, bpf_prog_info};

use super::types::Types;

const LOAD: u32 = 5;
const OBJECT_INFO: u32 = 15;
const ATTACH: u32 = 17;
const BTF_BY_ID: u32 = 19;
const NEXT_BTF: u32 = 23;
const TRACING: u32 = 26;
const RAW_TRACEPOINT: u32 = 23;
const FENTRY: u32 = 24;
const FEXIT: u32 = 25;
const CALL: u8 = 0x85;
const MOVE: u8 = 0xB7;
const CALLED_IN_KERNEL: u8 = 2;
const LOG_BYTES: usize = 1 << 16;
/// Of the kernel's modules (MODULE_NAME_LEN), with the zero behind it.
const MODULE_NAME: usize = 64;

/// The numbers that `drops.c` leaves open.
const WATCHED_PROGRAM: i32 = 0x6B73_0001;
const HAS_REASONS: i32 = 0x6B73_0002;
const DYNPTR_FROM_SKB: i32 = 0x6B73_0003;

/// To what a program is attached; numbers are those of types of the kernel.
#[derive(Clone, Copy)]
pub enum Event {
    Tracepoint(u32),
    Begin(u32),
    End(u32),
}

/// What the running kernel makes of the numbers that `drops.c` leaves open.
#[derive(Clone, Copy)]
pub struct Kernel {
    pub has_reasons: bool,
    /// The type of its function `bpf_dynptr_from_skb`.
    pub dynptr_from_skb: Option<u32>,
}

/// A program that runs until this value is dropped.
pub struct Link {
    program: OwnedFd,
    _link: OwnedFd,
}

impl Link {
    /// How often the kernel did not call it, because it was running on that CPU already.
    pub fn missed(&self) -> io::Result<u64> {
        // SAFETY: all fields are integers.
        let mut info: bpf_prog_info = unsafe { zeroed() };
        inform(&self.program, &mut info)?;
        Ok(info.recursion_misses)
    }
}

/// A BPF program that others have loaded, with where its source is.
pub struct Watched {
    pub name: String,
    /// File and line, if its BTF says them.
    pub line: Option<String>,
    main: u32,
}

impl Watched {
    /// A program without BTF, to which nothing can be attached.
    pub fn without_types(name: String) -> Self {
        Watched {
            name,
            line: None,
            main: 0,
        }
    }
}

/// The types of the kernel that is running, or of it and one of its modules.
pub struct OfKernel {
    pub types: Types,
    /// The module's description, which a program at one of its functions names.
    module: Option<OwnedFd>,
}

impl OfKernel {
    pub fn alone() -> io::Result<Self> {
        Ok(OfKernel {
            types: Types::of_kernel()?,
            module: None,
        })
    }

    /// With those of the module of this name; `None` where the kernel has no such module now.
    pub fn with(&self, module: &str) -> io::Result<Option<Self>> {
        // SAFETY: all fields are integers.
        let mut request: bpf_attr = unsafe { zeroed() };
        while next(NEXT_BTF, &mut request)? {
            // SAFETY: the variant of this command, which the kernel has filled.
            let number = unsafe { request.__bindgen_anon_6.next_id };
            request.__bindgen_anon_6.__bindgen_anon_1.start_id = number;
            // It may have gone meanwhile.
            let Ok((btf, name, bytes)) = described_types(number) else {
                continue;
            };
            if name == module {
                return Ok(Some(OfKernel {
                    types: self.types.with_module(bytes)?,
                    module: Some(btf),
                }));
            }
        }
        Ok(None)
    }
}

/// The object with the fields of the running kernel and the maps that `maps` has made of it.
pub fn fitted(object: &[u8], maps: &Ebpf, kernel: &OfKernel) -> io::Result<Object> {
    let mut fitted = Object::parse(object).map_err(io::Error::other)?;
    let types = aya::Btf::parse(kernel.types.bytes(), Endianness::default());
    let types = types.map_err(io::Error::other)?;
    fitted.relocate_btf(&types).map_err(io::Error::other)?;
    let sections = fitted.functions.keys().map(|(section, _)| *section);
    let sections = sections.collect();
    let made: Vec<_> = fitted.maps.clone().into_iter().collect();
    let made = made.iter().filter_map(|(name, map)| {
        let (Map::Array(data) | Map::HashMap(data) | Map::PerCpuArray(data)) = maps.map(name)?
        else {
            return None;
        };
        Some((name.as_str(), data.fd().as_fd().as_raw_fd(), map))
    });
    fitted
        .relocate_maps(made, &sections)
        .map_err(io::Error::other)?;
    fitted.relocate_calls(&sections).map_err(io::Error::other)?;
    Ok(fitted)
}

/// Loads the program `name` of the object and attaches it to an event of the kernel, whose number is one of these types.
pub fn attach(
    object: &Object,
    name: &str,
    event: Event,
    of: &OfKernel,
    kernel: Kernel,
) -> io::Result<Link> {
    let (kind, number) = match event {
        Event::Tracepoint(number) => (RAW_TRACEPOINT, number),
        Event::Begin(number) => (FENTRY, number),
        Event::End(number) => (FEXIT, number),
    };
    let module = of.module.as_ref().map(AsRawFd::as_raw_fd);
    link(load(object, name, kind, number, module, 0, kernel)?)
}

/// Loads the program `name` and attaches it to the end of another BPF program, which has this number.
pub fn attach_to(
    object: &Object,
    name: &str,
    program: &impl AsFd,
    number: u32,
    watched: &Watched,
    kernel: Kernel,
) -> io::Result<Link> {
    let program = program.as_fd().as_raw_fd();
    link(load(
        object,
        name,
        FEXIT,
        watched.main,
        Some(program),
        number,
        kernel,
    )?)
}

fn load(
    object: &Object,
    name: &str,
    kind: u32,
    number: u32,
    of: Option<i32>,
    watched: u32,
    kernel: Kernel,
) -> io::Result<OwnedFd> {
    let program = object.programs.get(name).ok_or(io::ErrorKind::NotFound)?;
    let function = object.functions.get(&program.function_key());
    let function = function.ok_or(io::ErrorKind::NotFound)?;
    let mut steps = function.instructions.clone();
    steps
        .iter_mut()
        .for_each(|step| complete(step, watched, kernel));
    let license = program.license.as_bytes_with_nul();
    let mut log = vec![0u8; LOG_BYTES];
    let mut loaded = Err(io::Error::other("it was not tried"));
    // The log is asked for when there is a reason: to write it takes longer than to load.
    for log_level in [0, 1] {
        // SAFETY: all fields are integers, of which zero is the usual value.
        let mut request: bpf_attr = unsafe { zeroed() };
        // SAFETY: the variant of the command that follows.
        let own = unsafe { &mut request.__bindgen_anon_3 };
        own.prog_type = TRACING;
        own.expected_attach_type = kind;
        own.attach_btf_id = number;
        own.insns = steps.as_ptr() as u64;
        own.insn_cnt = steps.len() as u32;
        own.license = license.as_ptr() as u64;
        if log_level > 0 {
            own.log_level = log_level;
            own.log_buf = log.as_mut_ptr() as u64;
            own.log_size = LOG_BYTES as u32;
        }
        for (to, from) in own.prog_name[..15].iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        if let Some(of) = of {
            own.__bindgen_anon_1.attach_prog_fd = of as u32;
        }
        loaded = call(LOAD, &mut request);
        if loaded.is_ok() {
            break;
        }
    }
    loaded.map_err(|error| {
        let text = CString::from_vec_with_nul(
            log[..=log.iter().position(|byte| *byte == 0).unwrap_or(0)].to_vec(),
        );
        let text = text.map(|text| text.to_string_lossy().into_owned());
        match text
            .as_deref()
            .ok()
            .and_then(crate::port::bpf::program::complaint)
        {
            Some(last) => io::Error::other(format!("the kernel's verifier refuses it: {last}")),
            None => error,
        }
    })
}

/// Writes what `drops.c` leaves open.
fn complete(step: &mut bpf_insn, watched: u32, kernel: Kernel) {
    match (step.code, step.imm) {
        (MOVE, WATCHED_PROGRAM) => step.imm = watched as i32,
        (MOVE, HAS_REASONS) => step.imm = i32::from(kernel.has_reasons),
        (CALL, DYNPTR_FROM_SKB) => match kernel.dynptr_from_skb {
            Some(function) => {
                step.set_src_reg(CALLED_IN_KERNEL);
                step.imm = function as i32;
            }
            // In place of the call its failure is returned.
            None => {
                step.code = MOVE;
                step.imm = -1;
            }
        },
        _ => {}
    }
}

fn link(program: OwnedFd) -> io::Result<Link> {
    // SAFETY: as in `load`.
    let mut request: bpf_attr = unsafe { zeroed() };
    request.raw_tracepoint.prog_fd = program.as_raw_fd() as u32;
    Ok(Link {
        _link: call(ATTACH, &mut request)?,
        program,
    })
}

/// What is known of a BPF program; `None` without BTF, as nothing can be attached to it then.
pub fn described(program: &impl AsFd) -> io::Result<Option<Watched>> {
    let (mut function, mut line) = ([0u32; 2], [0u32; 4]);
    // SAFETY: all fields are integers.
    let mut info: bpf_prog_info = unsafe { zeroed() };
    info.nr_func_info = 1;
    info.func_info_rec_size = size_of_val(&function) as u32;
    info.func_info = function.as_mut_ptr() as u64;
    info.nr_line_info = 1;
    info.line_info_rec_size = size_of_val(&line) as u32;
    info.line_info = line.as_mut_ptr() as u64;
    inform(program, &mut info)?;
    if info.btf_id == 0 || info.nr_func_info == 0 {
        return Ok(None);
    }
    let types = types_of(info.btf_id)?;
    let main = function[1];
    let line = (info.nr_line_info > 0).then(|| {
        let file = types.string(line[1]);
        format!(
            "{}:{}",
            file.rsplit('/').next().unwrap_or(""),
            line[3] >> 10
        )
    });
    Ok(types.name(main).map(|name| Watched { name, line, main }))
}

fn types_of(number: u32) -> io::Result<Types> {
    let (_, _, bytes) = described_types(number)?;
    Types::parse(bytes)
}

/// A description of types of this number: open, with the name of the module that it is of, and as bytes.
fn described_types(number: u32) -> io::Result<(OwnedFd, String, Vec<u8>)> {
    // SAFETY: all fields are integers.
    let mut request: bpf_attr = unsafe { zeroed() };
    request.__bindgen_anon_6.__bindgen_anon_1.start_id = number;
    let btf = call(BTF_BY_ID, &mut request)?;
    let mut bytes = Vec::new();
    let mut name = [0u8; MODULE_NAME];
    // The first answer says how many bytes there are.
    for _ in 0..2 {
        // SAFETY: all fields are integers.
        let mut info: bpf_btf_info = unsafe { zeroed() };
        info.btf = bytes.as_mut_ptr() as u64;
        info.btf_size = bytes.len() as u32;
        info.name = name.as_mut_ptr() as u64;
        info.name_len = name.len() as u32;
        inform(&btf, &mut info)?;
        bytes.resize(info.btf_size as usize, 0);
    }
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    Ok((btf, name, bytes))
}

fn inform<T>(of: &impl AsFd, info: &mut T) -> io::Result<()> {
    // SAFETY: all fields are integers.
    let mut request: bpf_attr = unsafe { zeroed() };
    request.info.bpf_fd = of.as_fd().as_raw_fd() as u32;
    request.info.info_len = size_of::<T>() as u32;
    request.info.info = std::ptr::from_mut(info) as u64;
    // SAFETY: the request is a variant of the command, and `info` has the length that it names.
    match unsafe {
        libc::syscall(
            libc::SYS_bpf,
            OBJECT_INFO,
            &raw mut request,
            size_of::<bpf_attr>(),
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A command that goes on to the next number; false behind the last one.
fn next(command: u32, request: &mut bpf_attr) -> io::Result<bool> {
    // SAFETY: the request is a variant of the command and holds no pointer.
    match unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            &raw mut *request,
            size_of::<bpf_attr>(),
        )
    } {
        0 => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::NotFound => Ok(false),
            error => Err(error),
        },
    }
}

/// A command that answers with a descriptor.
fn call(command: u32, request: &mut bpf_attr) -> io::Result<OwnedFd> {
    // SAFETY: the caller has filled the variant of the command, and what it points to outlives the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            &raw mut *request,
            size_of::<bpf_attr>(),
        )
    };
    match answer {
        ..0 => Err(io::Error::last_os_error()),
        // SAFETY: the kernel has opened it for this process alone.
        _ => Ok(unsafe { OwnedFd::from_raw_fd(answer as i32) }),
    }
}

/// What a field of the kernel holds before its first zero.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
