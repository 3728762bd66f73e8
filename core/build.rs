//! Compiles each program in `bpf/` with clang and leaves the objects in OUT_DIR.
//!
//! Without clang or libbpf's headers the crate still builds; the `xdp` engine, the `faulty`
//! device and known limits of lab devices then say that they are absent (`cfg(bpf)` is unset).

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rustc-check-cfg=cfg(bpf)");
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-env-changed=CLANG");
    // The far end loads nothing into the kernel.
    if env::var_os("CARGO_FEATURE_PYTHON").is_none() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    // Programs for the kernel are the same whatever processor the crate is built for: the headers are this machine's.
    let host = env::var("HOST").expect("cargo sets it");
    let architecture = host.split('-').next().expect("a triple begins with it");
    let mut built = true;
    for entry in fs::read_dir("bpf").expect("core/bpf exists") {
        let source = entry.expect("readable folder").path();
        if source.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let object = out
            .join(source.file_stem().expect("a file name"))
            .with_extension("o");
        let status = Command::new(&clang)
            .args([
                "-target", "bpf", "-O2", "-g", "-mcpu=v3", "-Wall", "-Werror",
            ])
            .arg(format!("-I/usr/include/{architecture}-linux-gnu"))
            .args([
                "-c".as_ref(),
                source.as_os_str(),
                "-o".as_ref(),
                object.as_os_str(),
            ])
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(_) if have_headers() => panic!("{} does not compile", source.display()),
            _ => built = false,
        }
    }
    if built {
        println!("cargo:rustc-cfg=bpf");
    } else {
        println!("cargo:warning=no clang or libbpf headers: building without the xdp engine");
    }
}

fn have_headers() -> bool {
    PathBuf::from("/usr/include/bpf/bpf_helpers.h").exists()
}
