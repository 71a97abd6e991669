//! The server of saved recipes, which stands in no file: it is there by itself, unless another server has its name.

use std::collections::BTreeMap;

use crate::reader::Reader;
use crate::{Auth, ConnectionSettings, EntrySource, Origin, Place, ServerSettings, Settings, Source, UpstreamSettings, ViewSettings};

/// Its name.
pub const RECIPES: &str = "recipes";

/// The server, if no other has its name. Where one has, and there are recipes, that is a warning.
pub(crate) fn recipe_server(reader: &mut Reader<'_>, settings: &Settings) -> Option<ServerSettings> {
    let folder = &settings.recipes.folder;
    if let Some(other) = settings.servers.iter().find(|server| server.name == RECIPES) {
        if folder.is_dir() {
            let message = format!(
                "the server `{}` has the name by which saved recipes are called, so that they are no functions",
                other.title
            );
            let place = Place {
                source: Source::File {
                    file: other.entry.file.clone().unwrap_or_default(),
                    key: format!("servers.{}", other.title),
                },
                line: None,
            };
            reader.warn(place, message, Some("give the server another name".to_owned()));
        }
        return None;
    }
    Some(ServerSettings {
        name: RECIPES.to_owned(),
        title: RECIPES.to_owned(),
        entry: EntrySource::default(),
        origin: Origin::Recipes(folder.clone()),
        overlays: Vec::new(),
        view: ViewSettings::default(),
        upstream: UpstreamSettings::default(),
        base_url: None,
        connection: ConnectionSettings::default(),
        auth: Auth::None,
        credentials: BTreeMap::new(),
        extra_headers: Vec::new(),
        is_read_only: settings.policy.is_read_only,
        allow_private: false,
        skills: None,
        top_level_functions: settings.recipes.promoted.clone(),
        unresolved: Vec::new(),
    })
}
