//! Changes as servers without `initialize` tell them: to those who listen. (MCP 2026-07-28, Subscriptions.)

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, ServiceError};
use tokio::sync::broadcast;
use tokio::time::sleep;

use super::changes::{Change, Changed, Subscribed};

/// After a subscription that ended; doubles while none lasts.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Tells `changed` what the server says that it changed, as long as the connection lasts.
pub(super) async fn listen(peer: Peer<RoleClient>, server: String, changed: broadcast::Sender<Change>, subscribed: Arc<Subscribed>) {
    let mut wait = FIRST_WAIT;
    let mut wanted = subscribed.changes();
    // Fails if nobody listens.
    let tell = |what: Changed| drop(changed.send(Change::new(&server, what)));
    loop {
        wanted.mark_unchanged();
        let filter = filter(&peer, subscribed.uris());
        if filter == SubscriptionFilter::default() {
            // It tells nothing of what is wanted now.
            if wanted.changed().await.is_err() || peer.is_transport_closed() {
                return;
            }
            continue;
        }
        match peer.listen(filter).await {
            Ok(mut subscription) => loop {
                tokio::select! {
                    notice = subscription.next() => {
                        let Ok(Some(notice)) = notice else { break };
                        wait = FIRST_WAIT;
                        if let Some(what) = change_of(notice) {
                            tell(what);
                        }
                    }
                    // Another subscription takes the place of this one; nothing is lost between them that a list would not show.
                    change = wanted.changed() => {
                        if change.is_err() {
                            return;
                        }
                        wait = Duration::ZERO;
                        break;
                    }
                }
            },
            // It does not offer this.
            Err(ServiceError::McpError(_) | ServiceError::UnexpectedResponse) => return,
            Err(_) => {}
        }
        if peer.is_transport_closed() {
            return;
        }
        if wait.is_zero() {
            wait = FIRST_WAIT;
            continue;
        }
        sleep(wait).await;
        wait = wait.saturating_mul(2).min(LONGEST_WAIT);
        // What happened meanwhile was not told.
        for change in Change::all(&server) {
            tell(change.what);
        }
    }
}

/// What the server can tell of what is wanted.
fn filter(peer: &Peer<RoleClient>, uris: Vec<String>) -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::default();
    let Some(info) = peer.peer_info() else { return filter };
    let capabilities = &info.capabilities;
    let changes = |is: Option<Option<bool>>| (is.flatten() == Some(true)).then_some(true);
    filter.tools_list_changed = changes(capabilities.tools.as_ref().map(|tools| tools.list_changed));
    filter.prompts_list_changed = changes(capabilities.prompts.as_ref().map(|prompts| prompts.list_changed));
    filter.resources_list_changed = changes(capabilities.resources.as_ref().map(|resources| resources.list_changed));
    if !uris.is_empty()
        && capabilities
            .resources
            .as_ref()
            .is_some_and(|resources| resources.subscribe == Some(true))
    {
        filter.resource_subscriptions = Some(uris);
    }
    filter
}

fn change_of(notice: ServerNotification) -> Option<Changed> {
    match notice {
        ServerNotification::ToolListChangedNotification(_) => Some(Changed::Tools),
        ServerNotification::PromptListChangedNotification(_) => Some(Changed::Prompts),
        ServerNotification::ResourceListChangedNotification(_) => Some(Changed::Resources),
        ServerNotification::ResourceUpdatedNotification(update) => Some(Changed::Resource(update.params.uri)),
        _ => None,
    }
}
