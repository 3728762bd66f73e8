//! A piece of memory that is shared with the kernel: the rings and the frames of an AF_XDP socket.

use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;

pub struct Memory {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: all access is by atomics or raw pointers, whose users see to it that no two of them write the same bytes.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// New memory of this process, all zero. Huge pages are used where the host gives them to those that ask.
    pub fn new(length: usize) -> io::Result<Self> {
        let memory = Self::mapped(
            length,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )?;
        // SAFETY: the mapping that was just made. A refusal changes nothing.
        unsafe { libc::madvise(memory.start.as_ptr().cast(), length, libc::MADV_HUGEPAGE) };
        Ok(memory)
    }

    /// The memory of a socket's ring.
    pub fn of_socket(socket: RawFd, length: usize, offset: libc::off_t) -> io::Result<Self> {
        Self::mapped(
            length,
            libc::MAP_SHARED | libc::MAP_POPULATE,
            socket,
            offset,
        )
    }

    fn mapped(length: usize, flags: i32, file: RawFd, offset: libc::off_t) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, file, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at zero"))?;
        Ok(Memory { start, length })
    }

    pub fn length(&self) -> usize {
        self.length
    }

    /// The address `offset` bytes from the start, of which `bytes` bytes must be inside.
    pub fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(
            offset
                .checked_add(bytes)
                .is_some_and(|end| end <= self.length)
        );
        // SAFETY: inside the mapping, by the assertion.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `mapped`, of which no reference is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
