//! `keisoku-far stream`: the far end of streams, transactions, file transfers and probes; one client at a time.
//!
//! It sends only to the host that asked over TCP and greeted it, for no longer than it was asked to within the limits of trials.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::file::FileEnd;
use super::flows::{Awaited, backlog_drops, facts};
use super::iperf3::Iperf3;
use super::nat::NatResponder;
use super::responder::Responder;
use super::transactions::{Answers, token};
use super::trial::{Protocol, StreamTrial, TransactionTrial};
use crate::host::context::context;
use crate::host::interface_setting::InterfaceSetting;
use crate::host::link_rate::link_rates;
use crate::two_ended::clients::Sessions;
use crate::two_ended::control::{Control, Message, Problem, field};
use crate::two_ended::peer::Peer;

const IDLE: Duration = Duration::from_secs(600);
/// UDP: a datagram that comes later than this after the last one counts as lost.
const QUIET: Duration = Duration::from_millis(300);
/// Wait for data still in buffers and on the path when sending ends.
const PATIENCE: Duration = Duration::from_secs(30);
/// What clients may set of an interface.
const SETTABLE: [&str; 4] = ["mtu", "tso", "gso", "gro"];

/// What this server lets clients do.
pub struct StreamSessions {
    /// Where clients may have files written; nowhere if `None`.
    pub files: Option<PathBuf>,
    /// Whether they may have MTU and offloads of the interface towards them changed while they measure.
    pub settable: bool,
    /// A second address of this host, of which clients see what a NAT makes of another address.
    pub other: Option<IpAddr>,
    /// Path of the namespace, as the journal names it.
    pub namespace: Option<String>,
}

/// What a client has begun and not ended; all of it ends with the session.
#[derive(Default)]
struct Begun {
    setting: Option<InterfaceSetting>,
    checker: Option<Iperf3>,
    file: Option<FileEnd>,
    probes: Option<Responder>,
    look: Option<NatResponder>,
}

impl Sessions for StreamSessions {
    const GREETING: &'static [u8] = b"keisoku-stream 1\n";

    fn answer(
        &self,
        control: &mut Control,
        local: Peer,
        host: Peer,
        stopped: &AtomicBool,
    ) -> Result<(), Problem> {
        control.send(&json!({"host": context()}))?;
        let mut begun = Begun::default();
        while !stopped.load(Ordering::Relaxed) {
            let Ok(message) = control.receive(IDLE) else {
                break; // it hung up, or is idle for too long
            };
            if let Err(problem) = self.carry_out(&message, control, local, host, &mut begun)
                && !control.tell(problem)
            {
                break;
            }
        }
        Ok(())
    }
}

impl StreamSessions {
    fn carry_out(
        &self,
        message: &Message,
        control: &mut Control,
        local: Peer,
        host: Peer,
        begun: &mut Begun,
    ) -> Result<(), Problem> {
        let what: String = field(message, "do")?;
        match what.as_str() {
            "trial" => carry_out_trial(control, &stream_trial(message)?, local, host),
            "transactions" => {
                let answers = Answers::open(&transaction_trial(message)?, local, host)?;
                control.send(&json!({"port": answers.port, "token": answers.token}))?;
                control.expect("transactions-end", IDLE)?;
                control.send(&answers.end()?)
            }
            "probes" => {
                begun.probes = None;
                let trial = transaction_trial(message)?;
                let responder = begun.probes.insert(Responder::open(&trial, local, host)?);
                control.send(&responder.at())
            }
            "probes-end" => {
                begun.probes = None;
                control.send(&json!({"ended": true}))
            }
            "nat" => {
                begun.look = None;
                let look = begun
                    .look
                    .insert(NatResponder::open(local, self.other, host)?);
                control.send(&look.at())
            }
            "nat-end" => match begun.look.take() {
                Some(look) => control.send(&look.report()),
                None => Err(Problem::NotUnderstood("no look has begun".into())),
            },
            "interface" => {
                self.set(message, host, begun)?;
                control.send(&json!({"set": true}))
            }
            "file" => {
                begun.file = None;
                let Some(folder) = &self.files else {
                    return Err(Problem::Refused(
                        "this server writes no files; start it with --files DIRECTORY".into(),
                    ));
                };
                let end = begun.file.insert(FileEnd::open(folder, message)?);
                control.send(&end.at())
            }
            "file-op" => match &begun.file {
                Some(end) => end.answer(message, control, local, host),
                None => Err(Problem::NotUnderstood("no transfer has begun".into())),
            },
            "iperf3" => {
                let checker = begun.checker.insert(Iperf3::start(local)?);
                control.send(&json!({"port": checker.port}))
            }
            "iperf3-end" => {
                begun.checker = None;
                control.send(&json!({"ended": true}))
            }
            _ => Err(Problem::NotUnderstood(what)),
        }
    }

    fn set(&self, message: &Message, host: Peer, begun: &mut Begun) -> Result<(), Problem> {
        let asked: BTreeMap<String, Value> = field(message, "set")?;
        if !asked.is_empty() && !self.settable {
            return Err(Problem::Refused(
                "this server changes no interface; start it with --settable".into(),
            ));
        }
        let known = asked
            .into_iter()
            .filter(|(name, _)| SETTABLE.contains(&name.as_str()));
        let number = |(name, value): (String, Value)| {
            let number = value.as_bool().map(i64::from).or(value.as_i64());
            number
                .map(|number| (name.clone(), number))
                .ok_or(Problem::NotUnderstood(name))
        };
        let values = known.map(number).collect::<Result<BTreeMap<_, _>, _>>()?;
        if begun.setting.is_none() {
            if values.is_empty() {
                return Ok(());
            }
            let made = InterfaceSetting::of(host, self.namespace.as_deref());
            begun.setting = Some(made.map_err(Problem::Refused)?);
        }
        match &begun.setting {
            Some(setting) => setting.set(&values).map_err(Problem::Refused),
            None => Ok(()),
        }
    }
}

fn stream_trial(message: &Message) -> Result<StreamTrial, Problem> {
    let trial: StreamTrial = field(message, "trial")?;
    trial
        .check()
        .map_err(|name| Problem::NotUnderstood(format!("trial: {name} is beyond its limits")))?;
    Ok(trial)
}

fn transaction_trial(message: &Message) -> Result<TransactionTrial, Problem> {
    let trial: TransactionTrial = field(message, "trial")?;
    trial
        .check()
        .map_err(|name| Problem::NotUnderstood(format!("trial: {name} is beyond its limits")))?;
    Ok(trial)
}

fn carry_out_trial(
    control: &mut Control,
    trial: &StreamTrial,
    local: Peer,
    host: Peer,
) -> Result<(), Problem> {
    let count = trial.sent_here().len();
    let tokens = (0..count).map(|_| token()).collect::<Result<Vec<_>, _>>()?;
    let awaited = Awaited::open(trial, local, count)?;
    control.send(&json!({"tokens": tokens, "ports": awaited.ports(count)}))?;
    let flows = awaited.opened(&tokens, host)?;
    let drops_before = backlog_drops();
    let mut end = flows.begin(trial, &tokens)?;
    control.send(&json!({
        "ready": true,
        "facts": facts(&flows.sockets[0], trial),
        "links": link_rates(host),
    }))?;
    control.expect("run", IDLE)?;
    let sent = end
        .send(Duration::from_secs_f64(trial.duration_s))
        .map_err(|error| {
            Problem::Refused(format!(
                "the streams cannot be sent: {error}; use fewer of them"
            ))
        })?;
    control.send(&json!({"sent": sent}))?;
    let offered: Vec<(u32, u64)> = field(&control.expect("collect", IDLE)?, "offered")?;
    let mut received = reports(&end.received(&offered, QUIET, PATIENCE))?;
    if trial.protocol == Protocol::Udp
        && let Some(first) = received.get_mut(0)
    {
        // The host has one count for all of them.
        first["host_drops"] = backlog_drops().saturating_sub(drops_before).into();
    }
    control.send(&json!({"received": received, "connections": end.connections()}))
}

fn reports(found: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(found).map_err(|error| Problem::Refused(format!("{error}; measure again")))
}
