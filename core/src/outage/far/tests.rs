use super::*;
use crate::outage::near::{Near, Plan};
use std::net::Ipv4Addr;
use std::time::Duration;

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const MS: u64 = 1_000_000;

fn wanted(flows: usize) -> Wanted {
    Wanted {
        flows,
        interval_ns: MS,
        quiet_ns: 100 * MS,
        first: 0,
    }
}

#[test]
fn both_ends_see_each_others_streams_whole() {
    let far = Far::begin(None, 0, 1_000_000).unwrap();
    let opened = far.open(&wanted(3), LOCAL, LOCAL).unwrap();
    let mut near = Near::begin(Plan {
        remote: SocketAddr::new(LOCAL, opened.port),
        namespace: None,
        flows: 3,
        interval_ns: MS,
        quiet_ns: 100 * MS,
        token: opened.token,
        tcp: false,
    })
    .unwrap();
    while near.glance().received < 300 {
        thread::sleep(Duration::from_millis(5));
    }
    near.quiet();
    thread::sleep(Duration::from_millis(50));
    near.end().unwrap();
    let (here, there) = (near.record(), far.record(opened.token).unwrap());
    let sent = here.sent.next - here.sent.skipped;
    let came: u64 = there.flows.iter().map(|flow| flow.arrivals.received).sum();
    assert_eq!(sent, came, "{:?}", here.refused);
    assert_eq!(there.flows[2].from.len(), 1);
    far.close(opened.token);
    assert!(far.record(opened.token).is_none());
}

#[test]
fn a_session_that_is_renewed_goes_on_at_the_address_of_the_next_far_end() {
    let other: IpAddr = "127.0.0.2".parse().unwrap();
    for tcp in [false, true] {
        let begin = || Far::begin(None, 0, 1_000_000).unwrap();
        let (before, behind) = (begin(), begin());
        let first = before.open(&wanted(2), LOCAL, LOCAL).unwrap();
        let next = behind.open(&wanted(2), LOCAL, other).unwrap();
        let port = |opened: &Opened| if tcp { opened.tcp_port } else { opened.port };
        let mut near = Near::begin(Plan {
            remote: SocketAddr::new(LOCAL, port(&first)),
            namespace: None,
            flows: 2,
            interval_ns: MS,
            quiet_ns: 100 * MS,
            token: first.token,
            tcp,
        })
        .unwrap();
        while near.glance().received < 20 {
            thread::sleep(Duration::from_millis(5));
        }
        near.renew(next.token, SocketAddr::new(other, port(&next)));
        let came = || behind.record(next.token).unwrap().flows;
        while came().iter().any(|flow| flow.arrivals.received < 10) {
            thread::sleep(Duration::from_millis(5));
        }
        near.end().unwrap();
    }
}

#[test]
fn a_client_that_was_not_let_in_is_told_so_in_fewer_bytes_and_one_of_another_host_hears_nothing() {
    let far = Far::begin(None, 0, 1_000_000).unwrap();
    let opened = far
        .open(&wanted(1), "192.0.2.1".parse().unwrap(), LOCAL)
        .unwrap();
    let mut client = Datagrams::bound(SocketAddr::new(LOCAL, 0)).unwrap();
    let packet = |token| Packet {
        kind: Kind::Data,
        flow: 0,
        token,
        number: 7,
        sent_ns: 1,
        next: 0,
        received: 0,
        sent_before: 0,
    };
    let to = KernelAddress::of(SocketAddr::new(LOCAL, opened.port));
    client.send(&packet(opened.token).write(), &to).unwrap();
    client.send(&packet(opened.token ^ 1).write(), &to).unwrap();
    let mut room = [0; 128];
    let answer = loop {
        if let Some(datagram) = client.receive(&mut room, 0) {
            break Packet::read(&room[..datagram.length]).unwrap();
        }
        thread::sleep(Duration::from_millis(1));
    };
    assert_eq!((answer.kind, answer.number), (Kind::Unknown, 7));
    assert_eq!(answer.token, opened.token ^ 1);
    assert!(client.receive(&mut room, 0).is_none());
    assert_eq!(
        far.record(opened.token).unwrap().flows[0].arrivals.received,
        0
    );
}

#[test]
fn more_than_this_host_may_send_is_refused() {
    let far = Far::begin(None, 0, 5_000).unwrap();
    assert!(far.open(&wanted(3), LOCAL, LOCAL).is_ok());
    let refused = far.open(&wanted(3), LOCAL, LOCAL).unwrap_err();
    assert!(
        refused.contains("at most 5000 packets/s, of which 3000"),
        "{refused}"
    );
    assert!(far.open(&wanted(1001), LOCAL, LOCAL).is_err());
}
