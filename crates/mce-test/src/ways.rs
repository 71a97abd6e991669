//! What stands between a client and a server, and certificates for it: `tests/ways/server.py`.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::Value;

use crate::HttpServerProcess;

/// Starts it as `spec` says.
pub fn between(spec: &Value) -> HttpServerProcess {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ways/server.py");
    #[expect(clippy::disallowed_methods, reason = "a program of the tests")]
    let mut command = Command::new("python3");
    let command = command.arg(program).arg(spec.to_string());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().parse().unwrap();
    HttpServerProcess::of(child, port)
}

/// An authority of a test's own, in a folder.
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Authority {
    /// A new one, whose certificate is `ca.pem`.
    pub fn new(folder: &Path) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "an authority of tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.join("ca.pem"), certificate.pem()).unwrap();
        Self {
            folder: folder.to_owned(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Makes `NAME.pem` and `NAME.key` of a certificate that a host signed itself, as `openssl req -x509` does: with or without
    /// saying that it is an authority's own.
    pub fn sign_itself(folder: &Path, name: &str, host: &str, is_authority: bool) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = if is_authority {
            IsCa::Ca(BasicConstraints::Unconstrained)
        } else {
            IsCa::ExplicitNoCa
        };
        let certificate = params.self_signed(&key).unwrap();
        written(folder, name, &certificate.pem(), &key)
    }

    /// Makes `NAME.pem` and `NAME.key`, which only their owner can read, for a host; the files.
    pub fn certify(&self, name: &str, host: &str, is_expired: bool) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        if is_expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        }
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        written(&self.folder, name, &certificate.pem(), &key)
    }
}

fn written(folder: &Path, name: &str, certificate: &str, key: &KeyPair) -> (PathBuf, PathBuf) {
    let files = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
    std::fs::write(&files.0, certificate).unwrap();
    std::fs::write(&files.1, key.serialize_pem()).unwrap();
    let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&files.1, owner).unwrap();
    files
}
