//! What honest programs need still works in a sealed worker.

use serde_json::json;

use crate::harness::{ALL, Who, shared};

fn check(program: &str) {
    for who in [Who::Tester, Who::User] {
        assert_eq!(shared(ALL, who).value(program), json!("works"), "{program}");
    }
}

#[test]
fn event_loops_work() {
    check(
        "
import asyncio
async def main():
    await asyncio.sleep(0.001)
    return await asyncio.to_thread(lambda: 'works')
result = asyncio.run(main())
",
    );
}

#[test]
fn threads_and_queues_work() {
    check(
        "
import concurrent.futures
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    result = 'works' if list(pool.map(str, range(8))) == list('01234567') else ''
",
    );
}

#[test]
fn temporary_files_archives_and_databases_work() {
    check(
        "
import os, shutil, sqlite3, tempfile, zipfile
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'a.zip')
    with zipfile.ZipFile(path, 'w') as archive: archive.writestr('name', 'works')
    shutil.copy2(path, path + '.copy')
    os.rename(path + '.copy', path)
    db = sqlite3.connect(os.path.join(folder, 'db'))
    db.execute('create table t (x)')
    db.execute('insert into t values (?)', (zipfile.ZipFile(path).read('name').decode(),))
    db.commit()
    result = db.execute('select x from t').fetchone()[0]
",
    );
}

#[test]
fn native_modules_can_be_imported_late() {
    check("import array, bz2, ctypes, decimal, lzma, mmap, uuid, zoneinfo, _elementtree\nresult = 'works'");
}

#[test]
fn signals_to_itself_work() {
    check(
        "
import os, signal
seen = []
signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
result = 'works' if len(seen) == 2 else seen
",
    );
}

#[test]
fn devices_for_nothing_and_chance_work() {
    check(
        "
import os
with open('/dev/null', 'w') as null: print('x', file=null)
with open('/dev/urandom', 'rb') as source: assert len(source.read(8)) == 8
assert len(os.urandom(8)) == 8
result = 'works'
",
    );
}
