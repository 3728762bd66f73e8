//! The rings between this process and the kernel (linux/if_xdp.h): on each, one side produces and the other consumes.
//!
//! Indices run on without end and wrap at 2^32; an index's place is its remainder by the size, a power of two. What
//! this side has written becomes visible when it is told (`submit`, `release`) and not before.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::port::afxdp::memory::Memory;

/// A ring of entries of type `T`, a `repr(C)` structure of integers.
struct Ring<T> {
    memory: Memory,
    layout: libc::xdp_ring_offset,
    size: u32,
    of: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    fn new(memory: Memory, layout: libc::xdp_ring_offset, size: u32) -> Self {
        assert!(size.is_power_of_two());
        assert!(bytes::<T>(&layout, size) <= memory.length());
        Ring {
            memory,
            layout,
            size,
            of: PhantomData,
        }
    }

    fn index(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: inside the mapping, by `at`; the kernel aligns its indices. It lives as long as `self`.
        unsafe { AtomicU32::from_ptr(self.memory.at(offset as usize, 4).cast()) }
    }

    fn produced(&self) -> &AtomicU32 {
        self.index(self.layout.producer)
    }

    fn consumed(&self) -> &AtomicU32 {
        self.index(self.layout.consumer)
    }

    fn slot(&self, index: u32) -> *mut T {
        let place = (index & (self.size - 1)) as usize * size_of::<T>();
        self.memory
            .at(self.layout.desc as usize + place, size_of::<T>())
            .cast()
    }

    fn needs_waking(&self) -> bool {
        self.index(self.layout.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// Bytes of a ring of `size` entries.
pub fn bytes<T>(layout: &libc::xdp_ring_offset, size: u32) -> usize {
    layout.desc as usize + size as usize * size_of::<T>()
}

/// The side that produces.
pub struct Producer<T> {
    ring: Ring<T>,
    /// Entries written.
    written: u32,
}

impl<T: Copy> Producer<T> {
    pub fn new(memory: Memory, layout: libc::xdp_ring_offset, size: u32) -> Self {
        let ring = Ring::new(memory, layout, size);
        let written = ring.produced().load(Ordering::Relaxed);
        Producer { ring, written }
    }

    /// Entries that may be written now.
    pub fn room(&self) -> u32 {
        self.ring.size - self.written.wrapping_sub(self.taken())
    }

    /// Index of the first entry that the kernel has not taken.
    pub fn taken(&self) -> u32 {
        self.ring.consumed().load(Ordering::Acquire)
    }

    /// Index of the entry that is written next.
    pub fn next(&self) -> u32 {
        self.written
    }

    /// Writes an entry; there must be room.
    #[inline]
    pub fn push(&mut self, entry: T) {
        debug_assert!(self.room() > 0);
        self.rewrite(self.written, entry);
        self.written = self.written.wrapping_add(1);
    }

    /// Writes an entry again that the kernel is certain not to read at the moment.
    #[inline]
    pub fn rewrite(&mut self, index: u32, entry: T) {
        // SAFETY: inside the ring; the kernel reads an entry only between `submit` and its own consuming.
        unsafe { self.ring.slot(index).write_volatile(entry) };
    }

    /// Makes all entries written visible to the kernel.
    pub fn submit(&mut self) {
        self.ring.produced().store(self.written, Ordering::Release);
    }

    /// True if the kernel looks at this ring only when it is told to.
    pub fn needs_waking(&self) -> bool {
        self.ring.needs_waking()
    }
}

/// The side that consumes.
pub struct Consumer<T> {
    ring: Ring<T>,
    /// Entries read.
    read: u32,
}

impl<T: Copy> Consumer<T> {
    pub fn new(memory: Memory, layout: libc::xdp_ring_offset, size: u32) -> Self {
        let ring = Ring::new(memory, layout, size);
        let read = ring.consumed().load(Ordering::Relaxed);
        Consumer { ring, read }
    }

    /// Numbers of the entries that can be read now.
    #[inline]
    pub fn available(&self) -> Range<u32> {
        let produced = self.ring.produced().load(Ordering::Acquire);
        0..produced.wrapping_sub(self.read)
    }

    /// The next entry; there must be one.
    #[inline]
    pub fn pop(&mut self) -> T {
        // SAFETY: inside the ring; the kernel writes an entry before it produces it and not again before its release.
        let entry = unsafe { self.ring.slot(self.read).read_volatile() };
        self.read = self.read.wrapping_add(1);
        entry
    }

    /// Gives all entries read back to the kernel.
    pub fn release(&mut self) {
        self.ring.consumed().store(self.read, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    //! Both sides of one ring in this process: the memory of one is mapped twice.

    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    use proptest::prelude::*;

    use super::*;

    const LAYOUT: libc::xdp_ring_offset = libc::xdp_ring_offset {
        producer: 0,
        consumer: 64,
        flags: 128,
        desc: 192,
    };

    /// A producer and a consumer of the same ring, which begin at index `first`.
    fn pair(size: u32, first: u32) -> (Producer<u64>, Consumer<u64>) {
        let length = bytes::<u64>(&LAYOUT, size);
        // SAFETY: the name is a zero-terminated string; the descriptor is new and nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"ring".as_ptr(), 0)) };
        // SAFETY: it only sets the length of the file.
        let sized = unsafe { libc::ftruncate(file.as_raw_fd(), length as i64) };
        assert_eq!(sized, 0);
        let map = || Memory::of_socket(file.as_raw_fd(), length, 0).expect("a mapping");
        let ring = Ring::<u64>::new(map(), LAYOUT, size);
        ring.produced().store(first, Ordering::Relaxed);
        ring.consumed().store(first, Ordering::Relaxed);
        (
            Producer::new(map(), LAYOUT, size),
            Consumer::new(map(), LAYOUT, size),
        )
    }

    proptest! {
        /// Whatever the turns of both sides, also where the indices wrap, each entry arrives once and in order.
        #[test]
        fn every_entry_arrives_once_and_in_order(
            first in prop_oneof![Just(0), Just(u32::MAX - 5), any::<u32>()],
            turns in proptest::collection::vec((0u32..20, 0u32..20), 1..50),
        ) {
            let (mut producer, mut consumer) = pair(16, first);
            let (mut sent, mut received) = (0u64, 0u64);
            for (push, pop) in turns {
                let push = push.min(producer.room());
                for _ in 0..push {
                    producer.push(sent);
                    sent += 1;
                }
                let unseen = u64::from(consumer.available().len() as u32);
                prop_assert_eq!(unseen, sent - received - u64::from(push));
                producer.submit();
                prop_assert_eq!(consumer.available().len() as u64, sent - received);
                for _ in consumer.available().take(pop as usize) {
                    prop_assert_eq!(consumer.pop(), received);
                    received += 1;
                }
                consumer.release();
                prop_assert_eq!(u64::from(producer.room()), 16 - (sent - received));
            }
        }
    }

    #[test]
    fn entries_that_were_read_are_the_consumers_until_it_releases_them() {
        let (mut producer, mut consumer) = pair(2, u32::MAX);
        producer.push(1);
        producer.push(2);
        producer.submit();
        assert_eq!((producer.room(), producer.taken()), (0, u32::MAX));
        assert_eq!(consumer.pop(), 1);
        assert_eq!(producer.room(), 0);
        consumer.release();
        assert_eq!((producer.room(), producer.taken()), (1, 0));
    }

    #[test]
    fn an_entry_that_was_not_taken_can_be_written_again() {
        let (mut producer, mut consumer) = pair(4, 7);
        producer.push(1);
        producer.push(2);
        producer.submit();
        consumer.pop();
        consumer.release();
        producer.rewrite(producer.taken(), 9);
        assert_eq!(consumer.pop(), 9);
    }

    #[test]
    fn a_ring_that_sleeps_says_so() {
        let (producer, consumer) = pair(4, 0);
        assert!(!producer.needs_waking());
        consumer
            .ring
            .index(LAYOUT.flags)
            .store(libc::XDP_RING_NEED_WAKEUP, Ordering::Relaxed);
        assert!(producer.needs_waking());
    }
}
