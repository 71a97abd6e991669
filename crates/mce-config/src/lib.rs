//! Files and environment become [`Settings`]; each value remembers where it came from.
//!
//! Reads only the configuration files and, in [`env`], the process environment. Nothing is fetched, started or checked here.

pub mod env;
mod error;
mod load;
mod report;
mod secret;
mod settings;
mod source;

pub use error::ConfigError;
pub use load::{LoadOptions, MAX_FILE_BYTES, load};
pub use report::{MASK, Report, Shown, Warning};
pub use secret::Secret;
pub use settings::{
    Auth, Credential, DockerSettings, EnhanceSettings, LimitSettings, Location, Origin, RecipeSettings, SandboxSettings, ServeSettings,
    ServerSettings, SessionAuth, Settings, Unresolved,
};
pub use source::{Place, Source};
