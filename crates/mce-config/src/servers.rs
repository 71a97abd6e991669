//! The servers of both files, before each is read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::discover::OURS;
use crate::field::Field;
use crate::reader::Reader;
use crate::server::ServerEntry;
use crate::yaml::Kind;
use crate::{ConfigError, EntrySource, Place, Source, normalise_server_name};

/// The servers of one file: a mapping of names, or a list whose items have `name`.
pub(crate) fn collect_servers(servers: Option<Field>) -> Result<Vec<ServerEntry>, ConfigError> {
    let expected = "a mapping of server names, or a list of servers with `name`";
    let Some(servers) = servers.filter(|field| !field.is_blank()) else {
        return Ok(Vec::new());
    };
    let titled = match &servers.node.kind {
        Kind::List(_) => {
            let place = servers.place.clone();
            let items = servers.into_items(expected)?.into_iter();
            items.map(|item| named_item(&place, item)).collect::<Result<_, _>>()?
        }
        Kind::Null | Kind::Scalar(_) | Kind::Map(_) => servers.into_entries(expected)?,
    };
    let mut entries: Vec<ServerEntry> = Vec::new();
    for (title, field) in titled {
        let entry = entry(title, field)?;
        if let Some(first) = entries.iter().find(|known| known.name == entry.name) {
            return Err(ConfigError::SameServerName {
                place: Box::new(entry.place),
                first: first.title.clone(),
                second: entry.title,
                name: entry.name,
            });
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// An item of a list, by its `name`, which is its key from here on.
fn named_item(list: &Place, field: Field) -> Result<(String, Field), ConfigError> {
    let mut named = field;
    let name = match &mut named.node.kind {
        Kind::Map(entries) => {
            let position = entries.iter().position(|entry| entry.key == "name");
            position.map(|position| entries.remove(position).value)
        }
        Kind::Null | Kind::Scalar(_) | Kind::List(_) => return Err(named.unexpected("a mapping with `name`")),
    };
    match name.map(|node| node.kind) {
        Some(Kind::Scalar(name)) => {
            named.place = list.child(&name, named.node.line);
            Ok((name, named))
        }
        Some(Kind::Null | Kind::List(_) | Kind::Map(_)) | None => Err(ConfigError::MissingKey {
            place: named.place,
            key: "name".to_owned(),
            advice: "each server of a list needs `name: …`".to_owned(),
        }),
    }
}

fn entry(title: String, field: Field) -> Result<ServerEntry, ConfigError> {
    if title.trim().is_empty() {
        return Err(field.refuse("a server's name", "an empty text"));
    }
    let place = field.place.clone();
    Ok(ServerEntry {
        name: normalise_server_name(&title),
        title,
        fields: field
            .into_entries("a mapping with `openapi`, `command` or `url`")?
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        dialect: OURS,
        start_in: None,
        source: EntrySource {
            client: None,
            file: file_of(&place),
            also: Vec::new(),
        },
        place,
    })
}

fn file_of(place: &Place) -> Option<PathBuf> {
    match &place.source {
        Source::File { file, .. } => Some(file.clone()),
        Source::Default | Source::Argument { .. } | Source::Environment { .. } | Source::DotEnv { .. } => None,
    }
}

/// The first file's servers, then those of the second that the first does not have.
pub(crate) fn merge_servers(reader: &mut Reader<'_>, first: Vec<ServerEntry>, second: Vec<ServerEntry>) -> Vec<ServerEntry> {
    let mut merged = first;
    for entry in second {
        match merged.iter().find(|known| known.name == entry.name) {
            Some(known) => {
                let message = format!("server `{}` is ignored, because {} has it too", entry.title, known.place);
                reader.warn(entry.place, message, None);
            }
            None => merged.push(entry),
        }
    }
    merged
}
