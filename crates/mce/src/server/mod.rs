//! MCP as a server.

mod as_written;
mod auto;
mod called;
mod changed_reader;
mod client_call;
mod code;
mod code_executor;
mod conversation;
mod direct;
mod end_of_input;
mod handler;
mod http;
mod http_body;
mod index;
mod lone_surrogates;
mod long_integers;
mod notices;
mod on_behalf;
mod parking;
mod promoted;
mod search;
mod standing_client;
mod surface;
mod texts;
pub(crate) mod tools;
mod unreadable_lines;

pub(crate) use as_written::AsWritten;
pub(crate) use end_of_input::EndOfInput;
pub(crate) use handler::Handler;
pub(crate) use http::serve_http;
pub(crate) use lone_surrogates::WithoutLoneSurrogates;
pub(crate) use long_integers::LongIntegersAsTexts;
pub(crate) use promoted::tool_of;
pub(crate) use standing_client::StandingClient;
pub(crate) use unreadable_lines::answering;
