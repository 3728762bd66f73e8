//! A key that both ends share, in a file. The key itself is never shown.

use std::fs::{File, metadata};
use std::io::Read;
use std::path::Path;

const MOST_BYTES: u64 = 1 << 20;

/// The bytes of the file without a line end.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let problem = |what: &str| format!("--key-file: {} {what}", path.display());
    let is_file = metadata(path).map(|found| found.is_file());
    if !is_file.map_err(|error| problem(&format!("cannot be read: {error}; check its path")))? {
        return Err(problem("is no file; give the path of one"));
    }
    let mut key = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut key))
        .map_err(|error| problem(&format!("cannot be read: {error}; check its rights")))?;
    while key.last().is_some_and(|byte| b"\r\n".contains(byte)) {
        key.pop();
    }
    if key.is_empty() {
        return Err(problem("is empty; put the key there"));
    }
    Ok(key)
}
