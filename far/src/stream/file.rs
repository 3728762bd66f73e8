//! The far end of file transfers: writes received files into one folder, and reports times and hashes.
//!
//! It writes only there, only under the name of the transfer, and never overwrites a file.

use std::ffi::CString;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use socket2::{Socket, Type};

use super::chunks::{CHUNK_BYTES, WriteBehind, forget};
use super::flows::opening_of;
use super::transactions::token;
use crate::two_ended::control::{Control, Message, Problem, field};
use crate::two_ended::peer::Peer;
use crate::two_ended::sockets::{bound, is_readable, port_of};

const MOST_NAME: usize = 200;
const MOST_BYTES: u64 = 1 << 44;
const ACCEPT: Duration = Duration::from_secs(6);
const STALL: Duration = Duration::from_secs(60);

/// One transfer's end; dropping it removes a file that was not kept.
pub struct FileEnd {
    last: PathBuf,
    part: PathBuf,
    bytes: u64,
    direct: bool,
    bps: Option<f64>,
}

impl FileEnd {
    /// For the file that the message names, in `folder`.
    pub fn open(folder: &Path, message: &Message) -> Result<Self, Problem> {
        let (name, bytes): (String, u64) = (field(message, "name")?, field(message, "bytes")?);
        let bps: Option<f64> = field(message, "bps")?;
        let possible = bps.is_none_or(|bps| bps > 0.0 && bps.is_finite());
        if !is_name(&name) || !(1..=MOST_BYTES).contains(&bytes) || !possible {
            return Err(Problem::NotUnderstood("no name, or no size".into()));
        }
        let last = folder.join(&name);
        if last.exists() {
            return Err(Problem::Refused(format!(
                "{name} exists already in the server's directory; give another --name"
            )));
        }
        // One is written while another, that is verified, may be there.
        if free_bytes(folder).is_some_and(|free| free / 2 < bytes.into()) {
            return Err(Problem::Refused(
                "the server's disk has no room for the file; free some space there".into(),
            ));
        }
        Ok(FileEnd {
            last,
            part: folder.join(format!("keisoku-{:016x}.part", token()?)),
            bytes,
            direct: field(message, "direct")?,
            bps,
        })
    }

    /// What the client is sent first: the name while it is not whole, which another server may have to write.
    pub fn at(&self) -> Value {
        json!({"part": self.part.file_name().map(|name| name.to_string_lossy())})
    }

    /// Carries out one message of the client.
    pub fn answer(
        &self,
        message: &Message,
        control: &mut Control,
        local: Peer,
        host: Peer,
    ) -> Result<(), Problem> {
        let operation: String = field(message, "op")?;
        let said = match operation.as_str() {
            "write" => json!({"ns": self.write()?}),
            "receive" => {
                self.remove();
                json!({"bytes": self.receive(control, local, host)?})
            }
            "clear" => {
                self.remove();
                json!({"cleared": true})
            }
            "sync" => {
                self.sync()?;
                json!({"synced": true})
            }
            "sha256" => json!({"sha256": self.sha256()?}),
            "keep" => {
                self.keep()?;
                json!({"kept": true})
            }
            _ => return Err(Problem::NotUnderstood(operation)),
        };
        control.send(&said)
    }

    /// The ns that so many bytes take from memory until they are on the disk.
    fn write(&self) -> Result<u64, Problem> {
        let refused = |error| self.refused(&error);
        let begun = Instant::now();
        let mut behind = WriteBehind::create(&self.part, self.direct, self.bps).map_err(refused)?;
        let mut left = self.bytes;
        while left > 0 {
            // Rooms begin with content that cannot be compressed.
            let count = behind
                .room()
                .map_err(refused)?
                .len()
                .min(usize::try_from(left).unwrap_or(CHUNK_BYTES));
            behind.put(count);
            left -= count as u64;
        }
        behind.finish().map_err(refused)?;
        Ok(begun.elapsed().as_nanos() as u64)
    }

    /// Takes the file from the client's connection; the bytes that are on the disk then.
    fn receive(&self, control: &mut Control, local: Peer, host: Peer) -> Result<u64, Problem> {
        let no_socket = |error: io::Error| {
            Problem::Refused(format!("no port can be opened: {error}; measure again"))
        };
        let token = token()?;
        let listener = bound(local.at(0), Type::STREAM).map_err(no_socket)?;
        listener.listen(1).map_err(no_socket)?;
        control.send(&json!({"port": port_of(&listener), "token": token}))?;
        if !is_readable(&listener, ACCEPT) {
            return Err(Problem::Refused(
                "the file's connection did not come; measure again".into(),
            ));
        }
        let (stream, from) = listener.accept().map_err(no_socket)?;
        let of_client = from.as_socket().map(Peer::of) == Some(host);
        if !of_client || opening_of(&stream, Instant::now() + ACCEPT) != Some((token, 0)) {
            return Err(Problem::Refused(
                "another client connected in place of the file's sender; measure again".into(),
            ));
        }
        self.take(&stream)
    }

    fn take(&self, stream: &Socket) -> Result<u64, Problem> {
        let gone =
            |error: io::Error| Problem::Gone(format!("its file's connection broke: {error}"));
        stream.set_read_timeout(Some(STALL)).map_err(gone)?;
        let mut behind = WriteBehind::create(&self.part, self.direct, self.bps)
            .map_err(|error| self.refused(&error))?;
        let mut left = self.bytes;
        while left > 0 {
            let room = behind.room().map_err(|error| self.refused(&error))?;
            let wanted = room.len().min(usize::try_from(left).unwrap_or(CHUNK_BYTES));
            match (&mut &*stream).read(&mut room[..wanted]).map_err(gone)? {
                0 => break,
                count => {
                    behind.put(count);
                    left -= count as u64;
                }
            }
        }
        behind.finish().map_err(|error| self.refused(&error))?;
        Ok(self.bytes - left)
    }

    /// Waits until a file that another server wrote is on the disk.
    fn sync(&self) -> Result<(), Problem> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&self.part);
        file.and_then(|file| file.sync_data()).map_err(|error| {
            Problem::Refused(format!(
                "the FTP server did not write into this server's directory ({error}); see --ftp-directory"
            ))
        })
    }

    /// SHA-256 of the file, read from the disk.
    fn sha256(&self) -> Result<String, Problem> {
        let digest = || -> io::Result<String> {
            let mut file = forget(&self.part)?;
            let (mut hash, mut room) = (Sha256::new(), vec![0; CHUNK_BYTES]);
            loop {
                match file.read(&mut room)? {
                    0 => break,
                    count => hash.update(&room[..count]),
                }
            }
            Ok(hash
                .finalize()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect())
        };
        digest().map_err(|error| {
            Problem::Refused(format!(
                "the file cannot be read: {error}; transfer it again"
            ))
        })
    }

    /// Gives the file its name, unless another one took it meanwhile.
    fn keep(&self) -> Result<(), Problem> {
        fs::hard_link(&self.part, &self.last).map_err(|error| {
            let name = self.last.file_name().unwrap_or_default().to_string_lossy();
            Problem::Refused(format!(
                "{name} cannot be made: {error}; give another --name"
            ))
        })
    }

    fn refused(&self, error: &io::Error) -> Problem {
        let remedy = match error.raw_os_error() {
            Some(libc::EINVAL) if self.direct => "leave --direct away",
            _ => "check the file and its disk",
        };
        let name = self.part.file_name().unwrap_or_default().to_string_lossy();
        Problem::Refused(format!("{name} cannot be written: {error}; {remedy}"))
    }

    fn remove(&self) {
        // Perhaps there is none yet.
        let _ = fs::remove_file(&self.part);
    }
}

impl Drop for FileEnd {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A name without a folder, which does not begin with a dot.
fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=MOST_NAME).contains(&name.len())
        && name.bytes().next().is_some_and(letter)
        && name
            .bytes()
            .all(|byte| letter(byte) || byte == b'.' || byte == b'-')
}

fn free_bytes(folder: &Path) -> Option<u128> {
    let path = CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: statvfs is plain integers, for which all zero is a value; the kernel fills it.
    let (refused, found) = unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &raw mut found), found)
    };
    (refused == 0).then(|| found.f_bavail as u128 * found.f_frsize as u128)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_of_this_folder() {
        for name in ["a", "came.bin", "_x-1.tar.gz", &"n".repeat(200)] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            ".hidden",
            "a/b",
            "a\0b",
            "-a",
            "ä",
            &"n".repeat(201),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_name_leaves_the_folder(name in "[a./_\\-\\\\~]{0,20}") {
            let stays = Path::new("/folder").join(&name).parent() == Some(Path::new("/folder"));
            prop_assert!(!is_name(&name) || (stays && name != ".."));
        }
    }
}
