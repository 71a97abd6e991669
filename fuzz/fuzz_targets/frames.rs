//! Everything that a worker sends: bytes in any pieces become frames or a problem, never a panic. Also the one reader of a
//! program's own text that runs in the host.
//!
//! The readers are taken by their files and not through `mce-sandbox`, whose engines would take minutes to build.

#![no_main]
#![allow(dead_code, unused_imports, reason = "the parts of these files that read nothing")]

#[path = "../../crates/mce-sandbox/src/frames.rs"]
mod frames;
#[path = "../../crates/mce-sandbox/src/host_calls.rs"]
mod host_calls;
#[path = "../../crates/mce-sandbox/src/python/imports.rs"]
mod imports;
#[path = "../../crates/mce-sandbox/src/program.rs"]
mod program;

use libfuzzer_sys::fuzz_target;

use self::frames::{FrameBuffer, FrameProblem, WorkerFrame, parse};
use self::host_calls::{HostCall, Naming, SearchBy, WrittenCall};
use self::program::{Content, ErrorKind, ProgramError};

const OUTPUT_BYTES: usize = 1 << 16;

// The first byte is the size of the pieces, less one.
fuzz_target!(|input: &[u8]| {
    let Some((piece, bytes)) = input.split_first() else { return };
    let mut buffer = FrameBuffer::new(OUTPUT_BYTES);
    for piece in bytes.chunks(usize::from(*piece) + 1) {
        buffer.extend(piece);
        while let Ok(Some(frame)) = buffer.next_frame() {
            check(frame);
        }
    }
    // Without the framing, so that the contents are reached more often.
    check(bytes);
    let _ = imports::imports_any(&String::from_utf8_lossy(bytes), |module| module.is_empty());
});

/// What is accepted keeps what the host relies on.
fn check(frame: &[u8]) {
    match parse(frame, OUTPUT_BYTES) {
        Ok(WorkerFrame::Result { value, .. }) => assert!(value.get().len() <= OUTPUT_BYTES),
        Ok(WorkerFrame::Call {
            call: HostCall::Call { arguments, .. },
            ..
        }) => assert!(arguments.get().starts_with('{')),
        Err(FrameProblem::Shape { reason }) => assert!(reason.len() < 1000, "a problem repeats what the program wrote"),
        _ => {}
    }
}
