//! Files and environment become [`Settings`]; each value remembers where it came from.

mod secret;
mod settings;

pub use secret::Secret;
pub use settings::{
    Auth, Credential, LimitSettings, Location, Origin, RecipeSettings, SandboxSettings, ServeSettings, ServerSettings, SessionAuth,
    Settings, Unresolved,
};
