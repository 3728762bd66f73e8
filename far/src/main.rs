//! `keisoku-far`: the far end of measurements that need one, as one program without Python.
//!
//! It serves what its table says (`table`), to whom its options say, until SIGINT or SIGTERM. It needs no rights beyond those of
//! its ports, writes no file unless `--files` names a folder, and sends only to whoever asked it.

mod capacity;
mod clock_state;
mod host;
mod iperf3;
mod key;
mod options;
mod path;
mod place;
mod running;
mod service;
mod stamp;
mod stream;
mod table;
mod two_ended;

use std::io::Write;
use std::process::ExitCode;

use options::Options;
use service::Service;
use table::SERVICES;

const FAILED: u8 = 2;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    let first = words.next().unwrap_or_default();
    match first.as_str() {
        "--version" | "-V" => return said(&format!("keisoku-far {}\n", env!("CARGO_PKG_VERSION"))),
        "--help" | "-h" => return said(&usage()),
        "" => return refused(&usage()),
        _ => {}
    }
    let Some(service) = SERVICES.iter().find(|one| one.name == first) else {
        return refused(&format!(
            "keisoku-far: there is no service '{first}'; 'keisoku-far --help' lists them\n"
        ));
    };
    if words
        .peek()
        .is_some_and(|word| word == "--help" || word == "-h")
    {
        return said(&usage_of(service));
    }
    match Options::parse(service.name, service.options, service.port, words)
        .and_then(|options| running::run(service, &options))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refused(&format!("keisoku-far: {}\n", running::plain(&error))),
    }
}

fn usage() -> String {
    let mut text = String::from(
        "The far end of keisoku's measurements.\n\nUsage: keisoku-far SERVICE [OPTIONS]\n\nServices:\n",
    );
    for service in SERVICES {
        text += &format!("  {:<10} {}\n", service.name, service.summary);
    }
    text + "\n'keisoku-far SERVICE --help' lists its options, and 'keisoku-far --version' says the version.\n"
}

fn usage_of(service: &Service) -> String {
    let mut text = format!(
        "{}\n\nUsage: keisoku-far {} [OPTIONS]\n\nOptions:\n",
        service.summary, service.name
    );
    for option in options::of_all().chain(service.options) {
        let wanted = option
            .value
            .map_or(String::new(), |value| format!(" {value}"));
        text += &format!(
            "  {:<34} {}\n",
            format!("--{}{wanted}", option.name),
            option.help
        );
    }
    text
}

/// A reader that has gone is no failure.
fn said(text: &str) -> ExitCode {
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn refused(text: &str) -> ExitCode {
    let _ = std::io::stderr().write_all(text.as_bytes());
    ExitCode::from(FAILED)
}
