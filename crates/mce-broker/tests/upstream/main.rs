//! MCP servers as the broker uses them: a fake one that misbehaves, and real ones.

#![cfg(test)]

mod bench;
mod calls;
mod hostile;
mod life;
mod tools;
