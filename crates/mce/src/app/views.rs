//! The catalog's view of the configured servers.

use mce_catalog::catalog::ServerView;
use mce_catalog::function::{Advance, Effect, Pagination};
use mce_catalog::view::{ArgumentDefault, FunctionRule, Selector, ViewRules};
use mce_config::{
    EffectSetting, FunctionSelector, FunctionSettings, Location, Origin, PaginationSettings, PaginationWay, ServerSettings, Settings,
    ViewSettings,
};
use serde_json::json;

use super::documents::sha256;

/// One view for each server.
pub(super) fn views(settings: &Settings) -> Vec<ServerView> {
    settings.servers.iter().chain(&settings.recipe_server).map(view).collect()
}

pub(super) fn view(server: &ServerSettings) -> ServerView {
    ServerView {
        name: server.name.clone(),
        title: server.title.clone(),
        location: location_of(server),
        description: server.view.description.clone(),
        is_read_only: server.is_read_only,
        is_optional: matches!(server.origin, Origin::Recipes(_)),
        rules: rules(&server.view),
    }
}

/// What the keys of lists of tools begin with.
pub(super) const TOOLS: &str = "mcp:";

/// The key in the store of a server's document, or of its list of tools. Overlays make another document of it; another
/// command or URL makes another list.
pub(super) fn location_of(server: &ServerSettings) -> String {
    let identity = match &server.origin {
        Origin::OpenApi(_) => return parts_of(server).map(text_of).collect::<Vec<_>>().join(" + "),
        Origin::McpStdio(child) => {
            let cwd = child.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned());
            json!([child.command, child.args, cwd])
        }
        Origin::McpHttp(http) => json!([http.url]),
        Origin::Recipes(folder) => return format!("recipes:{}", folder.display()),
    };
    // Arguments and URLs can hold keys, so that only their hash is kept.
    let hash = sha256(identity.to_string().as_bytes());
    format!("{TOOLS}{}:{}", server.name, hash.get(..16).unwrap_or_default())
}

/// The document of a server and its overlays; nothing for servers of another kind.
pub(super) fn parts_of(server: &ServerSettings) -> impl Iterator<Item = &Location> {
    let document = match &server.origin {
        Origin::OpenApi(document) => Some(document),
        Origin::McpStdio(_) | Origin::McpHttp(_) | Origin::Recipes(_) => None,
    };
    document
        .into_iter()
        .flat_map(|document| std::iter::once(document).chain(&server.overlays))
}

/// A path or a URL as the store has it.
pub(super) fn text_of(location: &Location) -> String {
    match location {
        Location::File(path) => path.to_string_lossy().into_owned(),
        Location::Url(url) => url.clone(),
    }
}

fn rules(view: &ViewSettings) -> ViewRules {
    ViewRules {
        include: view.include.iter().map(selector).collect(),
        exclude: view.exclude.iter().map(selector).collect(),
        rename: view.rename.clone(),
        functions: view
            .functions
            .iter()
            .map(|(name, settings)| (name.clone(), rule(settings)))
            .collect(),
        pagination: view.pagination.as_ref().map(pagination),
    }
}

fn selector(selector: &FunctionSelector) -> Selector {
    let FunctionSelector {
        tag,
        path,
        method,
        operation,
    } = selector.clone();
    Selector {
        tag,
        path,
        method,
        operation,
    }
}

fn rule(settings: &FunctionSettings) -> FunctionRule {
    let defaults = settings.defaults.iter().map(|(argument, default)| {
        let default = ArgumentDefault {
            value: default.value.clone(),
            is_hidden: default.is_hidden,
        };
        (argument.clone(), default)
    });
    FunctionRule {
        description: settings.description.clone().unwrap_or_default(),
        effect: settings.effect.map(|effect| match effect {
            EffectSetting::Read => Effect::Read,
            EffectSetting::Write => Effect::Write,
            EffectSetting::Destructive => Effect::Destructive,
        }),
        defaults: defaults.collect(),
        pagination: settings.pagination.as_ref().map(pagination),
    }
}

fn pagination(settings: &PaginationSettings) -> Pagination {
    let PaginationSettings { by, parameter, items } = settings.clone();
    let needed = || parameter.clone().unwrap_or_default();
    Pagination {
        advance: match by {
            PaginationWay::Links => Advance::Links,
            PaginationWay::Cursor { next } => Advance::Cursor { parameter, next },
            PaginationWay::LastItem => Advance::LastItem { parameter: needed() },
            PaginationWay::Page { first } => Advance::Page {
                parameter: needed(),
                first,
            },
            PaginationWay::Offset { first } => Advance::Offset {
                parameter: needed(),
                first,
            },
        },
        items,
    }
}
