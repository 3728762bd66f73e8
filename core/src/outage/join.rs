//! `let_in`: a far end asks another one to be let in, as a measuring end does over TCP, so that both become ends
//! of a mesh.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use super::far::{Opened, Wanted};

const GREETING: &[u8] = b"keisoku-outage 1\n";
const PATIENCE: Duration = Duration::from_secs(5);
/// An answer is shorter.
const MOST_BYTES: usize = 4096;

/// What the far end at `remote` opens for this one, and this host's address on the way there. The error is one sentence for
/// whoever wants it.
pub fn let_in(wanted: &Wanted, remote: SocketAddr) -> Result<(Opened, IpAddr), String> {
    let start = "start 'keisoku outage serve' there";
    let (text, local) = match asked(wanted, remote) {
        Ok(Some(found)) => found,
        Ok(None) => return Err(format!("finds no far end at {remote}; {start}")),
        Err(error) => return Err(format!("does not reach {remote}: {error}; {start}")),
    };
    let answer: Value = serde_json::from_slice(&text).unwrap_or_default();
    if let Some(refusal) = answer["error"].as_str() {
        return Err(format!("is refused by {remote}, which {refusal}"));
    }
    let opened = serde_json::from_value(answer)
        .map_err(|_| format!("does not understand {remote}; use the same keisoku everywhere"))?;
    Ok((opened, local))
}

fn asked(wanted: &Wanted, remote: SocketAddr) -> io::Result<Option<(Vec<u8>, IpAddr)>> {
    let mut stream = TcpStream::connect_timeout(&remote, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    stream.write_all(GREETING)?;
    let mut greeting = vec![0; GREETING.len()];
    stream.read_exact(&mut greeting)?;
    if greeting != GREETING {
        return Ok(None);
    }
    let text = json!({ "do": "open", "wanted": wanted }).to_string();
    let mut message = (text.len() as u32).to_be_bytes().to_vec();
    message.extend([0; 4]);
    message.extend(text.into_bytes());
    stream.write_all(&message)?;
    let mut lengths = [0; 8];
    stream.read_exact(&mut lengths)?;
    let length = u32::from_be_bytes([lengths[0], lengths[1], lengths[2], lengths[3]]) as usize;
    if length > MOST_BYTES {
        return Ok(None);
    }
    let mut text = vec![0; length];
    stream.read_exact(&mut text)?;
    let local = stream.local_addr()?.ip().to_canonical();
    Ok(Some((text, local)))
}
