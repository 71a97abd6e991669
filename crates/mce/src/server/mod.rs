//! MCP as a server.

mod handler;
mod promoted;
mod texts;
pub(crate) mod tools;

pub(crate) use handler::Handler;
pub(crate) use promoted::tool_of;
