//! What may be done: what servers allow, then rules, then a person.

mod decision;
mod server;

pub use self::decision::Decision;
pub(crate) use self::server::check_function;
