//! An AF_XDP socket on one queue of an interface, with its frames' memory and its four rings.
//!
//! The two directions can be owned by two threads. This file moves descriptors; it never looks into a frame.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::interface::packet_socket::set;
use crate::port::afxdp::memory::Memory;
use crate::port::afxdp::ring::{self, Consumer, Producer};

/// Frames that are handed over together.
const MOST_A_CALL: u32 = 64;
/// linux/if_xdp.h
const XDP_MAX_TX_SKB_BUDGET: i32 = 9;
/// What the kernel counts for a frame in the send buffer, with its own structures.
const BUFFER_BYTES_A_FRAME: u32 = 4096;
/// How long the kernel may take to let go of a socket of before.
const PATIENCE_MS: u32 = 1000;
/// With zero copy a call polls the driver itself for up to this time, instead of waiting for its interrupt.
const BUSY_POLL_US: i32 = 20;

/// The memory of one socket.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Bytes for each frame: 2048 or 4096.
    pub chunk_bytes: u32,
    /// Frames that can be on their way at the same time, and that can have arrived and not been read; powers of two.
    pub sending_chunks: u32,
    pub receiving_chunks: u32,
}

pub struct Socket {
    descriptor: OwnedFd,
    memory: Memory,
    /// The driver reads and writes the frames of this process itself.
    pub zero_copy: bool,
    /// Frames to be handed over in one call.
    pub most_a_call: usize,
}

/// The half that sends.
pub struct Sending {
    pub socket: Arc<Socket>,
    pub ring: Producer<libc::xdp_desc>,
    done: Consumer<u64>,
    /// Chunks that hold no frame; the one used last is used next, because it is in the caches.
    spare: Vec<u64>,
    chunk_bytes: u32,
}

/// The half that receives.
pub struct Receiving {
    pub socket: Arc<Socket>,
    ring: Consumer<libc::xdp_desc>,
    fill: Producer<u64>,
}

/// Opens a socket on a queue; must run in the namespace of the interface.
pub fn open(interface: u32, queue: u32, room: Room) -> io::Result<(Sending, Receiving)> {
    // SAFETY: socket() touches no memory of ours.
    let descriptor =
        match unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) } {
            ..0 => return Err(io::Error::last_os_error()),
            // SAFETY: a new descriptor that nobody else owns.
            new => unsafe { OwnedFd::from_raw_fd(new) },
        };
    let chunks = room.sending_chunks + room.receiving_chunks;
    let memory = Memory::new(chunks as usize * room.chunk_bytes as usize)?;
    let registered = libc::xdp_umem_reg_v1 {
        addr: memory.at(0, 0) as u64,
        len: memory.length() as u64,
        chunk_size: room.chunk_bytes,
        headroom: 0,
    };
    let option = |name, value: u32| set(&descriptor, libc::SOL_XDP, name, value);
    set(&descriptor, libc::SOL_XDP, libc::XDP_UMEM_REG, registered)?;
    option(libc::XDP_UMEM_FILL_RING, room.receiving_chunks)?;
    option(libc::XDP_UMEM_COMPLETION_RING, room.sending_chunks)?;
    option(libc::XDP_RX_RING, room.receiving_chunks)?;
    option(libc::XDP_TX_RING, room.sending_chunks)?;
    // Linux 6.17 and later know it, and show after each call which frames they have read.
    let exact = option(XDP_MAX_TX_SKB_BUDGET, MOST_A_CALL).is_ok();
    // Without CAP_NET_ADMIN the buffer stays as it is, and full sooner.
    let _ = set(
        &descriptor,
        libc::SOL_SOCKET,
        libc::SO_SNDBUFFORCE,
        room.sending_chunks * BUFFER_BYTES_A_FRAME,
    );
    let offsets: libc::xdp_mmap_offsets = get(&descriptor, libc::XDP_MMAP_OFFSETS)?;
    let part = |layout: &libc::xdp_ring_offset, bytes, page: u64| {
        Memory::of_socket(descriptor.as_raw_fd(), bytes, page as libc::off_t)
            .map(|memory| (memory, *layout))
    };
    let descriptors =
        |layout, size, page| part(layout, ring::bytes::<libc::xdp_desc>(layout, size), page);
    let addresses = |layout, size, page| part(layout, ring::bytes::<u64>(layout, size), page);
    let transmit = descriptors(
        &offsets.tx,
        room.sending_chunks,
        libc::XDP_PGOFF_TX_RING as u64,
    )?;
    let receive = descriptors(
        &offsets.rx,
        room.receiving_chunks,
        libc::XDP_PGOFF_RX_RING as u64,
    )?;
    let fill = addresses(
        &offsets.fr,
        room.receiving_chunks,
        libc::XDP_UMEM_PGOFF_FILL_RING,
    )?;
    let done = addresses(
        &offsets.cr,
        room.sending_chunks,
        libc::XDP_UMEM_PGOFF_COMPLETION_RING,
    )?;
    let mut fill = Producer::new(fill.0, fill.1, room.receiving_chunks);
    let place = |chunk: u32| u64::from(chunk) * u64::from(room.chunk_bytes);
    // Before the socket is bound: a driver without copies takes its receive buffers from here at once.
    for chunk in room.sending_chunks..chunks {
        fill.push(place(chunk));
    }
    fill.submit();
    bind(&descriptor, interface, queue)?;
    let options: libc::xdp_options = get(&descriptor, libc::XDP_OPTIONS)?;
    let zero_copy = options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0;
    if zero_copy {
        let _ = set(
            &descriptor,
            libc::SOL_SOCKET,
            libc::SO_BUSY_POLL,
            BUSY_POLL_US,
        );
    }
    let socket = Arc::new(Socket {
        descriptor,
        memory,
        zero_copy,
        most_a_call: if exact || zero_copy {
            MOST_A_CALL as usize
        } else {
            1
        },
    });
    let sending = Sending {
        socket: socket.clone(),
        ring: Producer::new(transmit.0, transmit.1, room.sending_chunks),
        done: Consumer::new(done.0, done.1, room.sending_chunks),
        spare: (0..room.sending_chunks).rev().map(place).collect(),
        chunk_bytes: room.chunk_bytes,
    };
    let receiving = Receiving {
        socket,
        ring: Consumer::new(receive.0, receive.1, room.receiving_chunks),
        fill,
    };
    Ok((sending, receiving))
}

/// Binds without asking for a mode: the kernel then chooses zero copy where the driver has it, and copies elsewhere.
fn bind(descriptor: &OwnedFd, interface: u32, queue: u32) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: interface,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    for _ in 0..PATIENCE_MS {
        // SAFETY: the address outlives the call and its size is given.
        let bound = unsafe {
            let size = size_of_val(&address) as u32;
            libc::bind(descriptor.as_raw_fd(), (&raw const address).cast(), size)
        };
        match io::Error::last_os_error() {
            _ if bound == 0 => return Ok(()),
            error if error.raw_os_error() == Some(libc::EBUSY) => {
                thread::sleep(Duration::from_millis(1));
            }
            error => return Err(error),
        }
    }
    Err(io::Error::from_raw_os_error(libc::EADDRINUSE))
}

/// An option of level SOL_XDP. All bytes of `T` must be valid.
fn get<T: Copy>(descriptor: &OwnedFd, name: i32) -> io::Result<T> {
    // SAFETY: the types asked for are plain integers, for which all zero is a value.
    let mut value: T = unsafe { std::mem::zeroed() };
    let mut size = size_of::<T>() as u32;
    // SAFETY: the kernel writes at most the size given.
    let got = unsafe {
        libc::getsockopt(
            descriptor.as_raw_fd(),
            libc::SOL_XDP,
            name,
            (&raw mut value).cast(),
            &mut size,
        )
    };
    match got {
        0 => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Socket {
    /// The kernel's counts of what this socket could not take.
    pub fn statistics(&self) -> io::Result<libc::xdp_statistics> {
        get(&self.descriptor, libc::XDP_STATISTICS)
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }
}

impl Sending {
    /// The longest frame that a chunk holds.
    pub fn longest(&self) -> usize {
        self.chunk_bytes as usize
    }

    /// A chunk for a frame of so many bytes: its address for the kernel, and its memory. None while all are in use.
    #[inline]
    pub fn chunk(&mut self, bytes: usize) -> Option<(u64, *mut u8)> {
        assert!(bytes <= self.longest());
        if self.spare.is_empty() {
            self.reap();
        }
        let address = self.spare.pop()?;
        Some((address, self.memory(address, bytes)))
    }

    /// The memory of a chunk in use.
    #[inline]
    pub fn memory(&self, address: u64, bytes: usize) -> *mut u8 {
        self.socket.memory.at(address as usize, bytes)
    }

    /// Gives a chunk back that the kernel never had.
    pub fn withdraw(&mut self, address: u64) {
        self.spare.push(address);
    }

    /// Takes back the chunks of frames that have left.
    pub fn reap(&mut self) {
        let (spare, length) = (&mut self.spare, self.socket.memory.length() as u64);
        for _ in self.done.available() {
            let address = self.done.pop();
            // Some kernels also give back what they discarded (`NOWHERE` of a frame that was withdrawn).
            if address < length {
                spare.push(address);
            }
        }
        self.done.release();
    }

    /// Tells the kernel to send what was submitted.
    pub fn kick(&self) -> io::Result<()> {
        // SAFETY: nothing is handed over but the call itself.
        let sent = unsafe {
            let nothing = std::ptr::null();
            libc::sendto(
                self.socket.as_raw_fd(),
                nothing,
                0,
                libc::MSG_DONTWAIT,
                nothing.cast(),
                0,
            )
        };
        match sent {
            ..0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

impl Receiving {
    /// Hands over the frames that have arrived; each chunk goes back to the kernel.
    #[inline]
    pub fn drain(&mut self, mut sink: impl FnMut(&[u8])) {
        let available = self.ring.available();
        if available.is_empty() {
            return;
        }
        for _ in available {
            let descriptor = self.ring.pop();
            let (start, length) = (descriptor.addr as usize, descriptor.len as usize);
            // SAFETY: the kernel wrote this frame and leaves it alone until its chunk is in the fill ring.
            sink(unsafe {
                std::slice::from_raw_parts(self.socket.memory.at(start, length), length)
            });
            // The kernel takes any address in a chunk for the chunk.
            self.fill.push(descriptor.addr);
        }
        self.ring.release();
        self.fill.submit();
        if self.fill.needs_waking() {
            // SAFETY: nothing is received by this call; it makes the driver look at the fill ring.
            unsafe {
                let nothing = std::ptr::null_mut();
                libc::recv(self.socket.as_raw_fd(), nothing, 0, libc::MSG_DONTWAIT)
            };
        }
    }
}
