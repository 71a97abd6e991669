//! MCP servers as the broker uses them: a fake one that misbehaves, and real ones.

#![cfg(test)]

mod asking;
mod bench;
mod calls;
mod hostile;
mod http;
mod life;
mod login;
mod real;
mod tools;
