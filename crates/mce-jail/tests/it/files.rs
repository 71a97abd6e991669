//! Files: nothing of the host but the binds, nothing written outside `/tmp`, a `/tmp` of its own with a quota.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::harness::{ALL, ALONE_NAMESPACES, Jail, WITHOUT_LANDLOCK, WITHOUT_NAMESPACES, WITHOUT_SECCOMP, Who, shared};

#[test]
fn a_file_of_the_host_is_not_visible() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.txt");
    std::fs::write(&path, "secret").unwrap();
    // Everybody on the host may read it.
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let path = path.display();
    let program = format!(
        "
import os
paths = ['{path}', '/' + '../' * 30 + '{path}', '/etc/passwd', '/etc/shadow', '/proc/1/root{path}', '/proc/self/environ', '/sys/kernel/notes']
if attempt(os.symlink, '{path}', '/tmp/link') is None: paths.append('/tmp/link')
result = [p for p in paths if attempt(open, p) not in ('ENOENT', 'EACCES')]
"
    );
    for layers in [ALL, ALONE_NAMESPACES, WITHOUT_NAMESPACES, WITHOUT_LANDLOCK, WITHOUT_SECCOMP] {
        for who in [Who::Tester, Who::User] {
            assert_eq!(shared(layers, who).value(&program), json!([]), "{layers:?} {who:?}");
        }
    }
}

#[test]
fn nothing_is_written_outside_tmp() {
    let program = "
import os
places = ['/', '/usr', '/usr/lib', '/dev', '/mce', '/etc', '/var/tmp', '/dev/shm', '/run']
made = [p for p in places if attempt(open, p + '/probe', 'x') == 'TextIOWrapper' or attempt(os.mkdir, p + '/folder') is None]
changed = [p for p in ('/usr/bin/env', os.__file__) if attempt(open, p, 'a') == 'TextIOWrapper' or attempt(os.chmod, p, 0o777) is None]
result = made + changed
";
    for layers in [ALL, ALONE_NAMESPACES, WITHOUT_NAMESPACES, WITHOUT_LANDLOCK, WITHOUT_SECCOMP] {
        for who in [Who::Tester, Who::User] {
            assert_eq!(shared(layers, who).value(program), json!([]), "{layers:?} {who:?}");
        }
    }
}

#[test]
fn without_namespaces_there_is_no_place_to_write() {
    let jail = shared(WITHOUT_NAMESPACES, Who::Tester);
    assert_eq!(
        jail.value("result = [attempt(open, p + '/x', 'x') for p in ('/tmp', '.')]"),
        json!(["EACCES", "EACCES"])
    );
}

#[test]
fn tmp_holds_as_many_bytes_as_allowed() {
    let program = "
def fill():
    for number in range(64):
        with open(f'/tmp/{number}', 'wb', buffering=0) as file:
            for _ in range(4): written.append(file.write(bytes(1 << 20)))
written = []
result = [attempt(fill), sum(written) >> 20]
";
    for (layers, who) in [(ALL, Who::Tester), (ALL, Who::User), (ALONE_NAMESPACES, Who::Tester)] {
        let value = shared(layers, who).value(program);
        assert_eq!(value[0], "ENOSPC");
        assert!(value[1].as_u64().unwrap() <= 8, "{value}");
    }
}

#[test]
fn tmp_holds_as_many_files_as_allowed() {
    let program = "
import os
made = 0
while attempt(os.mkdir, f'/tmp/{made}') is None and made < 1000: made += 1
result = made
";
    assert_eq!(shared(ALL, Who::Tester).value(program), json!(64));
}

#[test]
fn nothing_in_tmp_can_be_executed_or_be_a_device_or_a_socket() {
    let program = "
import os, socket, stat
result = [attempt(os.mknod, '/tmp/a', kind | 0o600, os.makedev(1, 3)) for kind in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK)]
result += [attempt(os.mkfifo, '/tmp/fifo'), os.statvfs('/tmp').f_flag & (os.ST_NOEXEC | os.ST_NODEV | os.ST_NOSUID)]
";
    let flags = libc::ST_NOEXEC | libc::ST_NODEV | libc::ST_NOSUID;
    assert_eq!(
        shared(ALL, Who::Tester).value(program),
        json!(["EPERM", "EPERM", "EPERM", null, flags])
    );
    assert_eq!(
        shared(WITHOUT_SECCOMP, Who::Tester).value(program),
        json!(["EACCES", "EACCES", "EACCES", null, flags])
    );
}

#[test]
fn a_worker_does_not_see_the_tmp_of_another() {
    for layers in [ALL, ALONE_NAMESPACES] {
        let jail = shared(layers, Who::Tester);
        jail.value("open('/tmp/mine', 'x').close()");
        let program = "import os\nresult = [os.listdir('/tmp'), attempt(open, '/tmp/mine')]";
        assert_eq!(jail.value(program), json!([[], "ENOENT"]));
    }
}

#[test]
fn the_root_holds_the_binds_and_nothing_else() {
    let mut names: Vec<String> =
        serde_json::from_value(shared(WITHOUT_LANDLOCK, Who::Tester).value("import os\nresult = os.listdir('/')")).unwrap();
    names.sort();
    assert_eq!(names, ["bin", "dev", "etc", "lib", "lib64", "mce", "tmp", "usr"]);
    let program = "import os\nresult = sorted(os.listdir('/dev') + os.listdir('/etc'))";
    assert_eq!(
        shared(WITHOUT_LANDLOCK, Who::Tester).value(program),
        json!(["ld.so.cache", "null", "random", "urandom"])
    );
}

#[test]
fn an_own_root_needs_no_right_to_the_folder_of_a_bind() {
    if !rustix::process::geteuid().is_root() {
        // An ordinary user cannot bind what it cannot reach.
        return;
    }
    // Not below `/tmp`, wherever the tests are built.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("data"), "read me").unwrap();
    std::fs::set_permissions(&inner, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let mut spec = crate::harness::spec(ALL);
    spec.binds.push(mce_jail::Bind::same(&inner));
    let jail = Jail::with(&spec, Who::Tester, &crate::harness::limits()).unwrap();
    let path = inner.join("data");
    assert_eq!(jail.value(&format!("result = open('{}').read()", path.display())), "read me");
}

#[test]
fn a_bind_that_cannot_stay_where_it_is_lies_below_the_root() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(folder.path().join("data"), "read me").unwrap();
    std::fs::write(folder.path().join("other"), "not me").unwrap();
    for layers in [ALL, WITHOUT_NAMESPACES] {
        let mut spec = crate::harness::spec(layers);
        let bind = mce_jail::Bind::placed(folder.path().join("data"));
        let place = bind.argument().replace(mce_jail::ROOT, "");
        assert!(place.starts_with("/mce/tmp/"), "{place}");
        spec.binds.push(bind);
        let jail = Jail::with(&spec, Who::Tester, &crate::harness::limits()).unwrap();
        let root = "import sys\nroot = sys.argv[0].rsplit('/mce/', 1)[0]";
        let read = format!("{root}\nresult = open(root + '{place}').read()");
        assert_eq!(jail.value(&read), "read me", "{layers:?}");
        // What is not bound stays out of reach, also beside it.
        let other = folder.path().join("other");
        let program = format!(
            "try:\n    result = open('{}').read()\nexcept OSError:\n    result = 'refused'",
            other.display()
        );
        assert_eq!(jail.value(&program), "refused", "{layers:?}");
    }
}
