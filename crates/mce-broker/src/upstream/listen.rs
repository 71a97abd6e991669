//! Changes of tools as servers without `initialize` tell them: to those who listen. (MCP 2026-07-28, Subscriptions.)

use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, ServiceError};
use tokio::sync::broadcast;
use tokio::time::sleep;

/// After a subscription that ended; doubles while none lasts.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Sends the server's name to `changed` whenever it says that its tools changed, as long as the connection lasts.
pub(super) async fn listen(peer: Peer<RoleClient>, server: String, changed: broadcast::Sender<String>) {
    let can_change = |info: &rmcp::model::ServerPeerInfo| {
        info.capabilities
            .tools
            .as_ref()
            .is_some_and(|tools| tools.list_changed == Some(true))
    };
    if !peer.peer_info().is_some_and(|info| can_change(&info)) {
        return;
    }
    let mut wait = FIRST_WAIT;
    loop {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        match peer.listen(filter).await {
            Ok(mut subscription) => {
                while let Ok(Some(notice)) = subscription.next().await {
                    wait = FIRST_WAIT;
                    if matches!(notice, ServerNotification::ToolListChangedNotification(_)) {
                        // Fails if nobody listens.
                        let _ = changed.send(server.clone());
                    }
                }
            }
            // It does not offer this.
            Err(ServiceError::McpError(_) | ServiceError::UnexpectedResponse) => return,
            Err(_) => {}
        }
        if peer.is_transport_closed() {
            return;
        }
        sleep(wait).await;
        wait = wait.saturating_mul(2).min(LONGEST_WAIT);
        // What happened meanwhile was not told.
        let _ = changed.send(server.clone());
    }
}
