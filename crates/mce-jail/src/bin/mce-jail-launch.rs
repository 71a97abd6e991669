//! Roles for this crate's tests and no part of the product, whose launcher is `mce` itself in a hidden role.
//!
//! Without arguments: a launcher. `fork-server`: a fork server in Rust with one worker. `host SPEC`: a host that starts a
//! jail, writes its process id and waits.

use std::io::{Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use mce_jail::{CONTROL_FD, ForkServer, JailSpec, Launcher, launcher_main, recv_with_fds, spawn};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        [] => return launcher_main(),
        ["fork-server"] => fork_server(),
        ["host", spec] => host(spec),
        _ => Err("unknown role".into()),
    };
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(unsafe_code, reason = "descriptor 3 comes from the launcher and has no owner yet")]
fn own_control() -> OwnedFd {
    // SAFETY: the descriptor is open from the start of this process, and this is called once.
    unsafe { OwnedFd::from_raw_fd(CONTROL_FD) }
}

fn fork_server() -> Outcome {
    let control = own_control();
    let mut plan = vec![0; 1 << 20];
    let (count, mut fds) = recv_with_fds(&control, &mut plan)?;
    plan.truncate(count);
    let server = ForkServer::new(serde_json::from_slice(&plan)?)?;
    let pid = server.fork(fds.pop().ok_or("no frame socket")?, |frame| i32::from(worker(frame).is_err()))?;
    rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty())?;
    Ok(())
}

fn worker(frame: OwnedFd) -> Outcome {
    let told = |result: std::io::Result<()>| result.map_or_else(|error| error.kind().to_string(), |()| "done".to_owned());
    let answer = serde_json::json!({
        "pid": std::process::id(),
        "read": told(std::fs::read("/usr/bin/env").map(drop)),
        "write": told(std::fs::write("/tmp/x", "x")),
        "socket": told(UnixStream::connect("/x").map(drop)),
        "thread": told(std::thread::Builder::new().spawn(|| {}).map(drop)),
    });
    let mut frame = UnixStream::from(frame);
    frame.write_all(answer.to_string().as_bytes())?;
    Ok(())
}

fn host(spec: &str) -> Outcome {
    let spec: JailSpec = serde_json::from_str(spec)?;
    let (mut near, far) = UnixStream::pair()?;
    let jailed = spawn(
        &spec,
        &Launcher {
            program: std::env::current_exe()?,
            arguments: Vec::new(),
        },
        far.into(),
    )?;
    writeln!(std::io::stdout(), "{}", jailed.pid())?;
    // The program never writes: this waits for ever.
    near.read_exact(&mut [0])?;
    Ok(())
}
