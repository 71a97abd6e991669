//! Starts real jails whose program is the fork server in `server.py`, and runs programs in sealed workers.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mce_jail::{
    Bind, JailError, JailSpec, Jailed, Launcher, Layers, PlacedFile, Symlink, WorkerLimits, recv_with_fds, send_with_fds, spawn,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};
use serde_json::Value;

/// Nothing here takes nearly as long; a test that hangs must fail.
const PATIENCE: Duration = Duration::from_secs(20);

/// Who starts the jail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Who {
    /// Whoever runs the tests.
    Tester,
    /// An ordinary user, through `setpriv`, if root runs the tests.
    User,
}

pub(crate) const ALL: Layers = Layers::ALL;
/// Neither Landlock nor seccomp helps.
pub(crate) const ALONE_NAMESPACES: Layers = Layers {
    landlock: false,
    seccomp: false,
    ..ALL
};
pub(crate) const WITHOUT_NAMESPACES: Layers = Layers { namespaces: false, ..ALL };
pub(crate) const WITHOUT_LANDLOCK: Layers = Layers { landlock: false, ..ALL };
pub(crate) const WITHOUT_SECCOMP: Layers = Layers { seccomp: false, ..ALL };
pub(crate) const WITHOUT_RLIMITS: Layers = Layers { rlimits: false, ..ALL };

/// A jail that tests share, for each choice: each program has a worker of its own. It ends with the test process.
pub(crate) fn shared(layers: Layers, who: Who) -> MutexGuard<'static, Jail> {
    type Jails = Mutex<Vec<(Layers, Who, &'static Mutex<Jail>)>>;
    static JAILS: Jails = Mutex::new(Vec::new());
    let jail = {
        let mut jails = JAILS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = jails
            .iter()
            .find(|(known, by, _)| (*known, *by) == (layers, who))
            .map(|(_, _, jail)| *jail);
        known.unwrap_or_else(|| {
            let jail = &*Box::leak(Box::new(Mutex::new(Jail::start(layers, who))));
            jails.push((layers, who, jail));
            jail
        })
    };
    // A test that failed has left nothing behind in it.
    jail.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A jail with a sealed plan, ready to fork workers.
pub(crate) struct Jail {
    pub(crate) jailed: Jailed,
    /// What the fork server said of itself.
    pub(crate) hello: Value,
    control: OwnedFd,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Run {
    /// What the program left in `result`, or its error; null if the worker ended before.
    pub(crate) answer: Value,
    /// The worker's exit code; negative for a signal.
    pub(crate) status: i64,
}

pub(crate) fn pair() -> (OwnedFd, OwnedFd) {
    let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    sockopt::set_socket_timeout(&near, sockopt::Timeout::Recv, Some(PATIENCE)).unwrap();
    (near, far)
}

pub(crate) fn launcher(who: Who) -> Launcher {
    let own = PathBuf::from(env!("CARGO_BIN_EXE_mce-jail-launch"));
    if who == Who::Tester || !rustix::process::geteuid().is_root() {
        return Launcher {
            program: own,
            arguments: Vec::new(),
        };
    }
    let options = ["--reuid=1000", "--regid=1000", "--clear-groups", "--"].map(Into::into);
    Launcher {
        program: "/usr/bin/setpriv".into(),
        arguments: options.into_iter().chain([own.into()]).collect(),
    }
}

/// A launcher on another machine, by options of `tests/machines/run_on.py`.
pub(crate) fn launcher_on(machine: &[&str]) -> Launcher {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/machines/run_on.py");
    let options = ["-I", script].into_iter().chain(machine.iter().copied()).chain(["--"]);
    Launcher {
        program: "/usr/bin/python3".into(),
        arguments: options.chain([env!("CARGO_BIN_EXE_mce-jail-launch")]).map(Into::into).collect(),
    }
}

pub(crate) fn spec(layers: Layers) -> JailSpec {
    let file = |name: &str, text: &str| PlacedFile {
        path: format!("/mce/{name}").into(),
        bytes: text.into(),
        mode: 0o444,
    };
    let link = |name: &str| Symlink {
        path: format!("/{name}").into(),
        target: format!("usr/{name}").into(),
    };
    JailSpec {
        binds: vec![
            Bind::same("/usr"),
            Bind::optional("/etc/ld.so.cache"),
            Bind::optional("/no/such/file"),
        ],
        files: vec![file("server.py", include_str!("server.py")), file("seal.py", mce_jail::SEAL_PY)],
        symlinks: vec![link("lib"), link("lib64"), link("bin")],
        arguments: ["/usr/bin/python3", "-I", "-B", "{root}/mce/server.py"].map(str::to_owned).to_vec(),
        environment: vec![("LANG".to_owned(), "C.UTF-8".to_owned())],
        directory: "/".to_owned(),
        tmp_mib: 8,
        processes: 256,
        layers,
    }
}

pub(crate) fn limits() -> WorkerLimits {
    WorkerLimits {
        memory_mib: 128,
        cpu_seconds: 10,
        threads: 8,
        open_files: 64,
        tmp_mib: 8,
        tmp_files: 64,
        stack_mib: 8,
    }
}

impl Jail {
    pub(crate) fn start(layers: Layers, who: Who) -> Self {
        Self::with(&spec(layers), who, &limits()).unwrap()
    }

    pub(crate) fn with(spec: &JailSpec, who: Who, limits: &WorkerLimits) -> Result<Self, JailError> {
        Self::launched(spec, &launcher(who), limits)
    }

    pub(crate) fn launched(spec: &JailSpec, launcher: &Launcher, limits: &WorkerLimits) -> Result<Self, JailError> {
        let (control, far) = pair();
        let jailed = spawn(spec, launcher, far)?;
        let mut jail = Self {
            jailed,
            hello: Value::Null,
            control,
        };
        jail.hello = jail.receive();
        let plan = serde_json::to_vec(&jail.jailed.seal_plan(limits)?).unwrap();
        send_with_fds(&jail.control, &plan, &[]).unwrap();
        let is_refused = jail.receive().is_null();
        assert!(!is_refused, "the fork server refused the plan: {}", jail.stderr());
        Ok(jail)
    }

    /// Starts a program and returns its frame socket.
    pub(crate) fn begin(&self, program: &str) -> OwnedFd {
        let (near, far) = pair();
        send_with_fds(&self.control, program.as_bytes(), &[far.as_fd()]).unwrap();
        near
    }

    /// Runs a program in a worker; one that starts with `@` in the fork server.
    pub(crate) fn run(&self, program: &str) -> Run {
        let answer = receive(&self.begin(program));
        let status = if program.starts_with('@') {
            0
        } else {
            self.receive()["status"].as_i64().unwrap()
        };
        Run { answer, status }
    }

    /// The value of a program that ends well.
    pub(crate) fn value(&self, program: &str) -> Value {
        let mut run = self.run(program);
        assert!(run.answer.get("value").is_some(), "{program}\nended with {run:?}");
        run.answer["value"].take()
    }

    /// What the jail wrote to descriptor 2, up to its end. Ends it.
    pub(crate) fn stderr(&mut self) -> String {
        self.jailed.kill().unwrap();
        let pipe = std::io::PipeReader::from(self.jailed.take_stderr().unwrap());
        std::io::read_to_string(pipe).unwrap()
    }

    pub(crate) fn receive(&self) -> Value {
        receive(&self.control)
    }
}

pub(crate) fn receive(socket: &OwnedFd) -> Value {
    let mut buffer = vec![0; 1 << 20];
    let (count, _) = recv_with_fds(socket, &mut buffer).unwrap();
    if count == 0 {
        Value::Null
    } else {
        serde_json::from_slice(&buffer[..count]).unwrap()
    }
}
