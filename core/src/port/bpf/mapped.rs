//! A BPF array map in the memory of this process.
//!
//! The kernel and other threads change it at any time, so every access is atomic or uses raw pointers. It never gives
//! a reference to a plain value.

use std::io;
use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use aya::maps::Map;

/// `count` values of type `T`, a `repr(C)` structure of integers.
pub struct Mapped<T> {
    start: NonNull<T>,
    count: usize,
    of: PhantomData<T>,
}

// SAFETY: the memory is shared with the kernel anyway; all access is by atomics or raw pointers.
unsafe impl<T> Send for Mapped<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Mapped<T> {}

impl<T> Mapped<T> {
    /// Maps an array map whose values are at least as large as `T`.
    pub fn new(map: &Map, count: usize) -> io::Result<Self> {
        let Map::Array(data) = map else {
            return Err(io::Error::other("not an array map"));
        };
        let length = count * size_of::<T>();
        // SAFETY: a new mapping of a map that has BPF_F_MMAPABLE; the kernel checks the length.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                std::os::fd::AsFd::as_fd(data.fd()).as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at zero"))?;
        Ok(Mapped {
            start,
            count,
            of: PhantomData,
        })
    }

    /// The value at `index`.
    pub fn at(&self, index: usize) -> *mut T {
        assert!(index < self.count);
        // SAFETY: in the mapping, by the assertion.
        unsafe { self.start.as_ptr().add(index) }
    }

    /// The u64 at `offset` (`offset_of!`) of the first value, as other threads and the kernel see it.
    pub fn load(&self, offset: usize) -> u64 {
        self.field(offset).load(Ordering::Acquire)
    }

    pub fn store(&self, offset: usize, value: u64) {
        self.field(offset).store(value, Ordering::Release);
    }

    fn field(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= size_of::<T>());
        // SAFETY: inside the mapping and aligned, by the assertion; it lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().byte_add(offset).cast()) }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, of which no reference is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.count * size_of::<T>()) };
    }
}
