//! Files and environment become [`Settings`]; each value remembers where it came from.
//!
//! Reads only the configuration files and, in [`mod@env`], the process environment. Nothing is fetched, started or checked here.

mod assemble;
mod auth;
mod connection;
mod decimal;
mod discover;
mod dotenv;
mod entry;
pub mod env;
mod error;
mod exact_value;
mod expand;
mod field;
mod file;
mod headers;
mod jsonc;
mod lines;
mod load;
mod location;
mod merge;
mod name;
mod nearest;
mod oauth_fields;
mod own;
mod pagination_fields;
mod policy;
mod policy_fields;
mod rate;
mod reader;
mod recipe_server;
mod redact;
mod report;
mod respell;
mod secret;
mod secret_source;
mod server;
mod servers;
mod setting_fields;
mod settings;
mod source;
mod toml_tables;
mod unknown;
mod upstream;
mod upstream_fields;
mod variables;
mod view;
mod view_fields;
mod yaml;

pub use connection::ConnectionSettings;
pub use decimal::Decimal;
pub use entry::{
    ClientFile, Edited, EntryChange, EntryError, EntryOutcome, Launch, client_files, client_names, edit_entry, has_own_code_mode,
    read_client_file,
};
pub use error::ConfigError;
pub use exact_value::ExactValue;
pub use file::MAX_FILE_BYTES;
pub use headers::{is_secret_header, is_secret_variable};
pub use load::{LoadOptions, load};
pub use name::normalise_server_name;
pub use policy::{AskerSetting, Budget, Comparison, Condition, PolicyRule, PolicySettings, Verdict};
pub use rate::Rate;
pub use recipe_server::RECIPES;
pub use report::{MASK, Report, Shown, Warning};
pub use secret::{MIN_SECRET_BYTES, Secret};
pub use secret_source::{MAX_SECRET_BYTES, SecretSource};
pub use settings::{
    AuditArguments, AuditSettings, AuditSync, Auth, CallSettings, ClientSettings, Credential, DockerSettings, EnhanceSettings,
    LimitSettings, Location, Origin, PaceSettings, RecipeSettings, ResultFormat, ResultSettings, SandboxSettings, ServeSettings,
    ServerSettings, SessionAuth, Settings, Surface, TokenPlace, TypeCheck, Unresolved, python_environment,
};
pub use source::{EntrySource, Place, Source};
pub use upstream::{Era, HttpServer, HttpTransport, OAuthSettings, StdioServer, UpstreamSettings};
pub use view::{
    ArgumentDefault, EffectSetting, FunctionSelector, FunctionSettings, MAX_DESCRIPTION_CHARS, PaginationSettings, PaginationWay,
    ViewSettings,
};
