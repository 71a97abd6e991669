//! SHA-256 as text.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The digest of `bytes` in 64 lower-case hex digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a text cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}
