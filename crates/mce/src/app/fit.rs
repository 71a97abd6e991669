//! A server's settings against its document: what names something that is not there.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use mce_broker::{follows_document, host_without_credentials, tls_fault};
use mce_catalog::catalog::Catalog;
use mce_catalog::function::{Function, Target};
use mce_catalog::lookup::LookupError;
use mce_catalog::openapi::Problem;
use mce_catalog::store::Store;
use mce_config::ServerSettings;

use super::views::view;
use crate::failure::Failure;

/// What of a server's settings does not fit its document, which is in the store.
///
/// # Errors
///
/// A failure if functions cannot be called because of it; the document stays in the store.
pub(super) fn misfits(server: &ServerSettings, store: &Arc<Store>, allowed_domains: &[String]) -> Result<Vec<Problem>, Failure> {
    let view = view(server);
    let schemes = store.security_schemes(&view.location).unwrap_or_default();
    let location = view.location.clone();
    let catalog = Catalog::new(Arc::clone(store), vec![view]);
    let mut problems = rules(server, &catalog)?;
    problems.extend(other_hosts(server, store.as_ref(), (&location, allowed_domains)));
    problems.extend(tls_fault(server).map(|message| Problem {
        pointer: format!("servers.{}.tls", server.title),
        message,
    }));
    let known: Vec<_> = schemes.keys().map(|name| format!("`{name}`")).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let unknown = server.credentials.keys().filter(|name| !schemes.contains_key(*name));
    problems.extend(unknown.map(|name| Problem {
        pointer: format!("servers.{}.credentials.{name}", server.title),
        message: format!("the document has no security scheme `{name}`; it has {known}"),
    }));
    let unknown = server
        .top_level_functions
        .iter()
        .filter_map(|name| match catalog.function(&server.name, name) {
            Err(error @ LookupError::UnknownFunction { .. }) => Some((name, error.hint())),
            _ => None,
        });
    problems.extend(unknown.map(|(name, hint)| Problem {
        pointer: format!("servers.{}.top_level_functions", server.title),
        message: format!(
            "the document has no function `{name}`{}",
            hint.map_or_else(String::new, |hint| format!("; {hint}"))
        ),
    }));
    Ok(problems)
}

/// Hosts that only the document names, where no credential of the server goes.
fn other_hosts(server: &ServerSettings, store: &Store, (location, allowed_domains): (&str, &[String])) -> Option<Problem> {
    // Reading all functions takes longer than all else of a document that is unchanged.
    if !follows_document(server) {
        return None;
    }
    let hosts = RefCell::new(BTreeSet::new());
    // All are looked at.
    let note = |function: &Function| {
        if let Target::Http(target) = &function.target {
            hosts.borrow_mut().extend(host_without_credentials(server, target, allowed_domains));
        }
        true
    };
    store.are_all(location, note).ok()?;
    let hosts: Vec<_> = hosts.into_inner().iter().map(|host| format!("`{host}`")).collect();
    let message = format!(
        "no credentials go to {}, where the document puts some functions, since its first server is at another host; to allow that, \
         add it to `MCE_ALLOWED_DOMAINS`",
        hosts.join(", ")
    );
    let pointer = format!("servers.{}", server.title);
    (!hosts.is_empty()).then_some(Problem { pointer, message })
}

fn rules(server: &ServerSettings, catalog: &Catalog) -> Result<Vec<Problem>, Failure> {
    let found = catalog.misfits(&server.name).map_err(Failure::internal)?;
    let (errors, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|misfit| misfit.is_error);
    if let Some(first) = errors.first() {
        let more = match errors.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more such settings)"),
        };
        let message = format!("`servers.{}.{}`: {}{more}", server.title, first.setting, first.message);
        return Err(Failure::new("config", message).with_hint("the functions that this is about cannot be called; all others can"));
    }
    let problems = others.into_iter().map(|misfit| Problem {
        pointer: format!("servers.{}.{}", server.title, misfit.setting),
        message: misfit.message,
    });
    Ok(problems.collect())
}
