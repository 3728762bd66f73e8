//! `WriteBehind`: chunks written to a new file by a thread of its own, so that disk and network work in parallel. It may be
//! limited to a rate, to imitate a slow disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use keisoku::stream::send_buffer::SendBuffer;

pub const CHUNK_BYTES: usize = 1 << 20;
const AHEAD: usize = 4;
/// However slow the imitated disk is, a chunk takes no longer.
const MOST_PAUSE_S: f64 = 86_400.0;
/// Lengths for O_DIRECT are its multiples.
const BLOCK: usize = 4096;

/// A chunk with so many bytes in it.
type Filled = (SendBuffer, usize);

pub struct WriteBehind {
    full: Option<Sender<Filled>>,
    free: Receiver<SendBuffer>,
    room: Option<SendBuffer>,
    filled: usize,
    thread: Option<JoinHandle<io::Result<File>>>,
    /// Nobody wants the rest.
    abandoned: Arc<AtomicBool>,
}

impl WriteBehind {
    /// `bps`: the rate of writing; `None`: as fast as possible.
    pub fn create(path: &Path, direct: bool, bps: Option<f64>) -> io::Result<Self> {
        let flags = if direct { libc::O_DIRECT } else { 0 };
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o644)
            .custom_flags(flags)
            .open(path)?;
        let (full, to_write) = channel::<Filled>();
        let (freed, free) = channel();
        for _ in 0..AHEAD {
            // The receiver is held below.
            let _ = freed.send(SendBuffer::new(CHUNK_BYTES));
        }
        let abandoned = Arc::<AtomicBool>::default();
        let over = abandoned.clone();
        let thread = std::thread::Builder::new()
            .name("keisoku-write".into())
            .spawn(move || write(file, direct, bps, &to_write, &freed, &over))?;
        Ok(WriteBehind {
            full: Some(full),
            free,
            room: None,
            filled: 0,
            thread: Some(thread),
            abandoned,
        })
    }

    /// Where the next bytes are to be put.
    pub fn room(&mut self) -> io::Result<&mut [u8]> {
        if self.room.is_none() {
            // Chunks come back until the thread has ended, which only its failure does.
            self.room = Some(self.free.recv().map_err(|_| io::ErrorKind::BrokenPipe)?);
        }
        let room = self.room.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(&mut room.bytes_mut()[self.filled..])
    }

    /// So many bytes were put into `room`.
    pub fn put(&mut self, count: usize) {
        self.filled += count;
        if self.filled == CHUNK_BYTES {
            self.hand_over();
        }
    }

    /// Writes the rest and waits until it is on the disk.
    pub fn finish(mut self) -> io::Result<()> {
        self.hand_over();
        self.full = None;
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(file)) => file?.sync_data(),
            _ => Err(io::Error::other("the thread that writes panicked")),
        }
    }

    fn hand_over(&mut self) {
        if let (Some(full), Some(room)) = (&self.full, self.room.take()) {
            // If the thread has ended, its error is reported at the end.
            let _ = full.send((room, self.filled));
        }
        self.filled = 0;
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.full = None;
        self.abandoned.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // Nobody wants the file any more.
            let _ = thread.join();
        }
    }
}

fn write(
    mut file: File,
    direct: bool,
    bps: Option<f64>,
    full: &Receiver<Filled>,
    freed: &Sender<SendBuffer>,
    abandoned: &AtomicBool,
) -> io::Result<File> {
    let mut due = Instant::now();
    let mut failure = None;
    while let Ok((room, count)) = full.recv() {
        if failure.is_none() && !abandoned.load(Ordering::Relaxed) {
            if direct && count % BLOCK != 0 {
                // The last one: only whole blocks go past the cache.
                not_direct(&file)?;
            }
            // What comes after a failure is taken and thrown away, so that the sender comes to its end.
            failure = file.write_all(&room.bytes()[..count]).err();
        }
        if let Some(bps) = bps {
            due += Duration::from_secs_f64((8.0 * count as f64 / bps).min(MOST_PAUSE_S));
            while !abandoned.load(Ordering::Relaxed) && Instant::now() < due {
                std::thread::park_timeout(due.saturating_duration_since(Instant::now()));
            }
        }
        // The sender of chunks may be gone.
        let _ = freed.send(room);
    }
    failure.map_or(Ok(file), Err)
}

fn not_direct(file: &File) -> io::Result<()> {
    // SAFETY: fcntl with these commands takes and returns numbers.
    let done = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_DIRECT)
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the kernel drop a file's pages from memory, so that it is read from the disk.
pub fn forget(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    file.sync_data()?;
    // SAFETY: posix_fadvise takes numbers.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_back_file_that_is_abandoned_was_written_on() {
        let path = std::env::temp_dir().join(format!("keisoku-far-slow-{}", std::process::id()));
        // Each chunk takes an hour.
        let mut behind =
            WriteBehind::create(&path, false, Some(8.0 * CHUNK_BYTES as f64 / 3600.0)).unwrap();
        for _ in 0..3 {
            behind.room().unwrap();
            behind.put(CHUNK_BYTES);
        }
        drop(behind);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_was_put_is_in_the_file_whatever_its_length() {
        let path = std::env::temp_dir().join(format!("keisoku-far-{}", std::process::id()));
        for length in [0, 1, CHUNK_BYTES, 7 * CHUNK_BYTES + 13] {
            let mut behind = WriteBehind::create(&path, false, None).unwrap();
            let mut left = length;
            while left > 0 {
                let room = behind.room().unwrap();
                let count = room.len().min(left).min(300_000);
                room[..count].fill(length as u8);
                behind.put(count);
                left -= count;
            }
            behind.finish().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), vec![length as u8; length]);
        }
        std::fs::remove_file(&path).unwrap();
    }
}
