//! No network, by namespaces and by seccomp.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use serde_json::json;

use crate::harness::{ALL, ALONE_NAMESPACES, WITHOUT_NAMESPACES, WITHOUT_SECCOMP, Who, shared};

#[test]
fn sockets_of_every_family_are_refused() {
    let program = "
import socket
result = [f for f in range(50) for k in (1, 2, 3, 5) if attempt(socket.socket, f, k) != 'EPERM']
";
    for (layers, who) in [
        (ALL, Who::Tester),
        (ALL, Who::User),
        (WITHOUT_NAMESPACES, Who::Tester),
        (WITHOUT_NAMESPACES, Who::User),
    ] {
        assert_eq!(shared(layers, who).value(program), json!([]), "{layers:?} {who:?}");
    }
}

#[test]
fn a_listener_of_the_host_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let program = format!(
        "
import socket
def connect(): socket.create_connection(('127.0.0.1', {port}), 1)
result = attempt(connect)
"
    );
    for layers in [ALL, ALONE_NAMESPACES, WITHOUT_NAMESPACES, WITHOUT_SECCOMP] {
        let value = shared(layers, Who::Tester).value(&program);
        assert!(
            ["EPERM", "EACCES", "ENETUNREACH"].contains(&value.as_str().unwrap()),
            "{layers:?}: {value}"
        );
    }
    assert!(listener.accept().is_err());
}

#[test]
fn an_abstract_socket_of_the_host_cannot_be_reached() {
    let name = format!("mce-jail-test-{}", std::process::id());
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let program = format!(
        "
import socket
def connect(): socket.socket(socket.AF_UNIX).connect('\\0{name}')
result = attempt(connect)
"
    );
    for layers in [ALL, ALONE_NAMESPACES, WITHOUT_NAMESPACES, WITHOUT_SECCOMP] {
        let value = shared(layers, Who::Tester).value(&program);
        assert!(["EPERM", "ECONNREFUSED"].contains(&value.as_str().unwrap()), "{layers:?}: {value}");
    }
}

#[test]
fn only_local_pairs_are_made_and_only_without_an_address_is_sent() {
    let program = "
import socket
near, far = socket.socketpair()
near.send(b'x')
result = [far.recv(1).decode(), attempt(socket.socketpair, socket.AF_INET), attempt(near.sendto, b'x', '/tmp/x'),
    attempt(near.sendmsg, [b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, bytes(4))]), attempt(near.recvmsg, 1)]
";
    assert_eq!(
        shared(ALL, Who::Tester).value(program),
        json!(["x", "EPERM", "EPERM", "EPERM", "EPERM"])
    );
}
