use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsRawFd;

use super::super::server::{Server, ServerReport};
use super::super::{Failure, Kind, Plan, Row, Service};
use super::{ClientReport, UNKNOWN, transact};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn plan(kind: Kind, server: SocketAddr) -> Plan {
    Plan {
        kind,
        server,
        token: 7,
        connections: 3,
        request_bytes: 100,
        response_bytes: 70_000,
        duration_ns: 30_000_000,
        timeout_ns: 5_000_000_000,
        per_second: None,
        poisson: false,
        seed: 1,
        stamps: true,
        most_rows: 1000,
    }
}

fn carried_out(kind: Kind, change: impl Fn(&mut Plan)) -> (Vec<Row>, ClientReport, ServerReport) {
    let (listener, socket) = (
        TcpListener::bind((HERE, 0)).unwrap(),
        UdpSocket::bind((HERE, 0)).unwrap(),
    );
    let (address, descriptor) = match kind {
        Kind::Udp => (socket.local_addr().unwrap(), socket.as_raw_fd()),
        _ => (listener.local_addr().unwrap(), listener.as_raw_fd()),
    };
    let mut plan = plan(kind, address);
    if kind == Kind::Udp {
        plan.response_bytes = 1000;
    }
    change(&mut plan);
    let service = Service {
        kind,
        peer: HERE,
        token: 7,
        request_bytes: plan.request_bytes,
        response_bytes: plan.response_bytes,
        stamps: plan.stamps,
    };
    let mut server = Server::new(service, descriptor).unwrap();
    let (rows, report) = transact(plan).unwrap();
    (rows, report, server.end().unwrap())
}

#[test]
fn every_transaction_has_its_times_in_their_order() {
    for kind in [Kind::Kept, Kind::Own, Kind::Udp] {
        let (rows, report, far) = carried_out(kind, |_| {});
        assert!(!rows.is_empty() && report.window_ns > 0);
        assert_eq!(far.answered, rows.len() as u64, "{kind:?}");
        assert_eq!(far.foreign + report.foreign + far.refused, 0);
        for row in &rows {
            assert_eq!(row.failure, Failure::None, "{kind:?} {row:?}");
            assert!(row.due == row.begun && row.begun <= row.sent && row.sent < row.ended);
            assert!(row.left == UNKNOWN || row.left < row.ended);
            assert!(row.arrived == UNKNOWN || row.arrived > row.sent);
        }
        let made = rows.iter().filter(|row| row.setup > 0).count();
        let expected = match kind {
            Kind::Kept => 3.min(rows.len()),
            Kind::Own => rows.len(),
            Kind::Udp => 0,
        };
        assert_eq!(made, expected, "{kind:?}");
        assert!(far.shares.all.count > 0, "{kind:?}");
        let connections: HashSet<u32> = rows.iter().map(|row| row.connection).collect();
        assert!(connections.len() <= 3);
    }
}

#[test]
fn an_open_loop_makes_as_many_as_are_due_whatever_the_answers_do() {
    for kind in [Kind::Kept, Kind::Own, Kind::Udp] {
        let (rows, _, _) = carried_out(kind, |plan| {
            plan.per_second = Some(1000.0);
            plan.response_bytes = 100;
        });
        let due: Vec<i64> = rows.iter().map(|row| row.due).collect();
        let expected: Vec<i64> = (0..30).map(|k| k * 1_000_000).collect();
        assert_eq!(due, expected, "{kind:?}");
        let good = |row: &Row| row.begun >= row.due && row.failure == Failure::None;
        assert!(rows.iter().all(good), "{kind:?} {rows:?}");
    }
}

#[test]
fn what_is_never_answered_fails_after_its_time_and_what_had_to_wait_for_it_is_kept() {
    let silent = UdpSocket::bind((HERE, 0)).unwrap();
    let address = silent.local_addr().unwrap();
    let echo = std::thread::spawn(move || {
        // It answers the greeting only.
        let mut room = [0u8; 200];
        let (count, from) = silent.recv_from(&mut room).unwrap();
        silent.send_to(&room[..count], from).unwrap();
        silent
    });
    let mut plan = plan(Kind::Udp, address);
    (plan.connections, plan.response_bytes) = (1, 100);
    (plan.timeout_ns, plan.per_second) = (1_000_000_000, Some(1000.0));
    let (rows, _) = transact(plan).unwrap();
    let of = |failure: Failure| rows.iter().filter(|row| row.failure == failure).count();
    assert_eq!((of(Failure::NoAnswer), of(Failure::NotBegun)), (1, 29));
    assert!(rows.iter().all(|row| row.ended - row.due >= 1_000_000_000));
    drop(echo.join());
}

#[test]
fn a_server_answers_one_host_and_one_token_only() {
    let socket = UdpSocket::bind((HERE, 0)).unwrap();
    let service = |peer| Service {
        kind: Kind::Udp,
        peer,
        token: 7,
        request_bytes: 16,
        response_bytes: 16,
        stamps: false,
    };
    let asking = UdpSocket::bind((HERE, 0)).unwrap();
    asking.connect(socket.local_addr().unwrap()).unwrap();
    let mut server = Server::new(service(HERE), socket.as_raw_fd()).unwrap();
    asking.send(&super::head(8, 1)).unwrap();
    asking.send(&super::head(7, 2)).unwrap();
    let mut room = [0u8; 64];
    assert_eq!(asking.recv(&mut room).unwrap(), 16);
    assert_eq!(room[..16], super::head(7, 2));
    let report = server.end().unwrap();
    assert_eq!((report.answered, report.foreign), (1, 1));
    let other = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    let mut server = Server::new(service(other), socket.as_raw_fd()).unwrap();
    asking.send(&super::head(7, 3)).unwrap();
    // Nothing says when it has looked at the datagram but that it is no longer in the socket.
    while socket.peek(&mut room).is_ok() {
        std::thread::yield_now();
    }
    assert_eq!(server.end().unwrap().answered, 0);
}

#[test]
fn a_port_where_nobody_listens_is_said() {
    let address = TcpListener::bind((HERE, 0)).unwrap().local_addr().unwrap();
    let problem = transact(plan(Kind::Kept, address)).unwrap_err();
    assert!(problem.contains("connection 1 failed"), "{problem}");
    let (rows, _) = transact(plan(Kind::Own, address)).unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row.failure == Failure::Refused));
}
