//! Fakes for tests: an HTTP API that answers as told and keeps what it was sent, byte for byte.

#![expect(clippy::unwrap_used, reason = "test code: a fake that cannot work ends the test")]

mod fake_api;

pub use fake_api::{FakeAnswer, FakeApi, ReceivedRequest};
