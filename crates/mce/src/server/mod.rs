//! MCP as a server.

mod code;
mod end_of_input;
mod handler;
mod lone_surrogates;
mod promoted;
mod surface;
mod texts;
pub(crate) mod tools;

pub(crate) use end_of_input::EndOfInput;
pub(crate) use handler::Handler;
pub(crate) use lone_surrogates::WithoutLoneSurrogates;
pub(crate) use promoted::tool_of;
