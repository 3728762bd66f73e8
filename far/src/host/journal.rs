//! Entries of keisoku's journal of this host (`keisoku/ground/host/undo.py`), so that `keisoku clean` undoes what this
//! program leaves if it is killed.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

const FOLDER: &str = "/run/keisoku";

static NUMBERS: AtomicU32 = AtomicU32::new(1);

/// Writes an entry of this process, which is on the disk when it returns.
pub fn record(entry: &Value) -> Result<PathBuf, String> {
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{}-{number}.json", std::process::id(), born());
    let path = Path::new(FOLDER).join(name);
    let written = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(FOLDER)
        .and_then(|()| File::create_new(&path))
        .and_then(|mut file| {
            file.write_all(entry.to_string().as_bytes())?;
            file.sync_all()
        });
    match written {
        Ok(()) => Ok(path),
        Err(error) => Err(format!(
            "the journal {FOLDER} cannot be written: {error}; see that this user may write there"
        )),
    }
}

/// Removes an entry that was carried out.
pub fn forget(path: &Path) {
    // One that is gone already was carried out by another.
    let _ = fs::remove_file(path);
}

/// When this process began, in clock ticks since boot; 0 where that is hidden.
fn born() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields
        .split_whitespace()
        .nth(19)
        .and_then(|field| field.parse().ok())
        .unwrap_or(0)
}
