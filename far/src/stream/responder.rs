//! `Responder`: answers probes of one host while its streams go on: STAMP packets, and transactions on new connections.

use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::transactions::Answers;
use super::trial::TransactionTrial;
use crate::running::spawn;
use crate::stamp::reflector::Reflector;
use crate::two_ended::control::Problem;
use crate::two_ended::peer::Peer;

/// Answers from when it is opened until it is dropped.
pub struct Responder {
    answers: Answers,
    reflector: Arc<Reflector>,
    reflecting: Option<JoinHandle<()>>,
}

impl Responder {
    pub fn open(trial: &TransactionTrial, local: Peer, host: Peer) -> Result<Self, Problem> {
        let answers = Answers::open(trial, local, host)?;
        let opened = Reflector::open(local.at(0), None, Some(host.ip));
        let reflector = Arc::new(opened.map_err(|error| {
            Problem::Refused(format!(
                "a UDP socket at {local} cannot be opened: {error}; measure again"
            ))
        })?);
        let serving = reflector.clone();
        let reflecting =
            spawn("keisoku-reflect", move || serving.serve()).map_err(Problem::Refused)?;
        Ok(Responder {
            answers,
            reflector,
            reflecting: Some(reflecting),
        })
    }

    /// Where it answers: ports of transactions and of STAMP, and the token of transactions.
    pub fn at(&self) -> Value {
        json!({"port": self.answers.port, "token": self.answers.token, "stamp_port": self.reflector.port()})
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.reflector.stop();
        if let Some(thread) = self.reflecting.take() {
            // Its panic has been printed already.
            let _ = thread.join();
        }
    }
}
