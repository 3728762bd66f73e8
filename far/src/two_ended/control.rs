//! Control of a two-ended measurement over TCP, at the far end: a greeting with the protocol's version, then messages
//! (`keisoku/ground/host/two_ended/control.py` is the near end).
//!
//! A message is a JSON object and a block of bytes, both with their length before them. It does not depend on the measurement,
//! and checks every length.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::running::plain;

/// The longest message of a client, and the longest block; no client sends any block.
const MOST_JSON: usize = 1 << 20;
const MOST_BLOCK: usize = 1 << 20;
/// A client that takes nothing for so long is gone.
const STALL: Duration = Duration::from_secs(60);

/// Why a session does not go on as its client wants.
#[derive(Debug)]
pub enum Problem {
    /// The client is gone, or was idle for too long: nothing can be said to it.
    Gone(String),
    /// What cannot be done here, in one sentence that the client is sent; the session goes on.
    Refused(String),
    /// What no client of this version says.
    NotUnderstood(String),
}

pub type Message = Map<String, Value>;

pub struct Control {
    stream: TcpStream,
}

impl Control {
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(STALL))?;
        Ok(Control { stream })
    }

    /// Both ends send a greeting first.
    pub fn greet(&mut self, greeting: &[u8], timeout: Duration) -> Result<(), Problem> {
        let mut came = vec![0; greeting.len()];
        let done = self
            .stream
            .set_read_timeout(Some(timeout))
            .and_then(|()| self.stream.write_all(greeting))
            .and_then(|()| self.stream.read_exact(&mut came));
        match done {
            Ok(()) if came == greeting => Ok(()),
            Ok(()) => {
                let shown = String::from_utf8_lossy(&came[..came.len().min(16)])
                    .escape_debug()
                    .to_string();
                Err(Problem::Gone(format!(
                    "does not speak this version: it sends '{shown}' as greeting"
                )))
            }
            Err(error) => Err(Problem::Gone(format!("sends no greeting: {error}"))),
        }
    }

    pub fn send(&mut self, message: &Value) -> Result<(), Problem> {
        self.send_with(message, &[])
    }

    /// A message with a block of bytes.
    pub fn send_with(&mut self, message: &Value, block: &[u8]) -> Result<(), Problem> {
        let text = message.to_string();
        let mut all = Vec::with_capacity(8 + text.len() + block.len());
        all.extend((text.len() as u32).to_be_bytes());
        all.extend((block.len() as u32).to_be_bytes());
        all.extend(text.as_bytes());
        all.extend(block);
        self.stream.write_all(&all).map_err(gone)
    }

    /// The next message.
    pub fn receive(&mut self, timeout: Duration) -> Result<Message, Problem> {
        self.stream.set_read_timeout(Some(timeout)).map_err(gone)?;
        read_message(&mut self.stream)
    }

    /// The next message, which has to be this one.
    pub fn expect(&mut self, what: &str, timeout: Duration) -> Result<Message, Problem> {
        let message = self.receive(timeout)?;
        match message.get("do").and_then(Value::as_str) {
            Some(said) if said == what => Ok(message),
            said => Err(Problem::NotUnderstood(format!(
                "{} instead of {what}",
                said.unwrap_or("nothing")
            ))),
        }
    }

    /// Tells the client what went wrong; true if the session goes on.
    pub fn tell(&mut self, problem: Problem) -> bool {
        match problem {
            Problem::Gone(_) => false,
            Problem::Refused(sentence) => self.send(&json!({"error": plain(&sentence)})).is_ok(),
            Problem::NotUnderstood(what) => {
                let sentence =
                    format!("does not understand ({what}); use the same keisoku at both ends");
                // It is over anyway.
                let _ = self.send(&json!({"error": sentence}));
                false
            }
        }
    }
}

fn read_message(from: &mut impl Read) -> Result<Message, Problem> {
    let mut lengths = [0; 8];
    from.read_exact(&mut lengths).map_err(gone)?;
    let [a, b, c, d, e, f, g, h] = lengths;
    let (text, block) = (
        u32::from_be_bytes([a, b, c, d]) as usize,
        u32::from_be_bytes([e, f, g, h]) as usize,
    );
    if text > MOST_JSON || block > MOST_BLOCK {
        return Err(Problem::Gone(format!(
            "sent a message of {} bytes, which is too long",
            text + block
        )));
    }
    let mut room = vec![0; text.max(block)];
    from.read_exact(&mut room[..text]).map_err(gone)?;
    let message = match serde_json::from_slice(&room[..text]) {
        Ok(Value::Object(message)) => message,
        _ => return Err(Problem::Gone("sent an invalid message".into())),
    };
    from.read_exact(&mut room[..block]).map_err(gone)?;
    match message.get("error") {
        None => Ok(message),
        Some(error) => Err(Problem::Gone(
            error
                .as_str()
                .map_or_else(|| error.to_string(), str::to_owned),
        )),
    }
}

fn gone(error: io::Error) -> Problem {
    Problem::Gone(format!("closed the connection: {error}"))
}

/// A member of a message as a type.
pub fn field<T: serde::de::DeserializeOwned>(message: &Message, name: &str) -> Result<T, Problem> {
    let value = message.get(name).cloned().unwrap_or(Value::Null);
    serde_json::from_value(value)
        .map_err(|error| Problem::NotUnderstood(format!("{name}: {error}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_is_read_with_its_block_left_out() {
        let mut bytes = [0, 0, 0, 10, 0, 0, 0, 2].to_vec();
        bytes.extend(br#"{"do":"a"}xy"#);
        let message = read_message(&mut bytes.as_slice()).unwrap();
        assert_eq!(field::<String>(&message, "do").unwrap(), "a");
        assert!(field::<u32>(&message, "do").is_err() && field::<u32>(&message, "none").is_err());
        assert!(read_message(&mut &bytes[..bytes.len() - 1]).is_err());
        bytes[0] = 1;
        assert!(read_message(&mut bytes.as_slice()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_message(&mut bytes.as_slice());
        }

        #[test]
        fn any_text_is_a_message_or_none(text in r#"[{}\[\]":,a-z0-9 ]{0,60}"#) {
            let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
            bytes.extend([0; 4]);
            bytes.extend(text.as_bytes());
            if read_message(&mut bytes.as_slice()).is_ok() {
                let begins = text.trim_start().starts_with('{');
                prop_assert!(begins);
            }
        }
    }
}
