//! Everything that a worker sends: bytes in any pieces become frames or a problem, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mce_sandbox::frames::{FrameBuffer, parse};

const OUTPUT_BYTES: usize = 1 << 16;

fuzz_target!(|input: (u8, Vec<u8>)| {
    let (piece, bytes) = input;
    let mut buffer = FrameBuffer::new(OUTPUT_BYTES);
    for piece in bytes.chunks(usize::from(piece) + 1) {
        buffer.extend(piece);
        while let Ok(Some(frame)) = buffer.next_frame() {
            let _ = parse(frame, OUTPUT_BYTES);
        }
    }
    // Without the framing, so that the contents are reached more often.
    let _ = parse(&bytes, OUTPUT_BYTES);
});
