//! Real jails: each property has its test.
#![cfg(test)]

mod harness;

use harness::*;
use mce_jail::*;

#[test]
fn smoke() {
    for who in [Who::Tester, Who::User] {
        let jail = Jail::start(Layers::ALL, who);
        eprintln!("{:?} {:?} {}", jail.jailed.layers(), jail.jailed.notes(), jail.hello);
        eprintln!(
            "{:?}",
            jail.run("import os\nresult = [os.getpid(), os.getppid(), os.getuid(), os.listdir('/'), os.getcwd()]")
        );
    }
}
