//! Logins at MCP servers over HTTP, and at APIs by the schemes of their documents (`api_places`). (MCP 2025-11-25 and 2026-07-28, Authorization) The protocol is rmcp's, whose types stay here;
//! what it may reach, what is kept of it, and what people are told is decided here.
//!
//! ```text
//! a person ──▶ Login: discovery, registration, browser or device ──▶ GrantFile (0600)
//! HttpClient of upstream ──▶ Session: the token, renewed by one for all ◀──┘
//!                              └─ all HTTP through GuardedClient
//! ```

mod api_places;
mod browser;
mod callback;
mod client;
mod device;
mod discovery;
mod grant;
mod guarded_client;
mod login;
mod login_error;
mod provider;
mod revoke;
mod session;

pub use api_places::person_scheme;
pub use browser::BrowserLogin;
pub use device::DeviceLogin;
pub use login::{LoggedIn, Login, LoginScheme, LoginWay};
pub use login_error::LoginError;
pub use session::{LoginNeed, LoginState};

pub(crate) use guarded_client::Way;
pub(crate) use provider::{provider_url, token_endpoint};
pub(crate) use session::{Session, SessionPlace, insufficient_scope};
