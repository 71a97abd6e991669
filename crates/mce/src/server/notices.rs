//! What clients are told without asking: that a list is another now, that a resource changed. To clients with `initialize` in
//! notifications, to others on what they listen to.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    PromptListChangedNotification, ResourceListChangedNotification, ResourceUpdatedNotification, ResourceUpdatedNotificationParam,
    ServerNotification, ToolListChangedNotification,
};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::surface::Surface;

/// How often it is looked whether a client that is told nothing is still there.
const LOOK: Duration = Duration::from_secs(30);

/// What is another now, as clients know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice {
    Tools,
    Prompts,
    Resources,
    /// The resource of this URI.
    Resource(String),
}

impl Notice {
    fn into_notification(self) -> ServerNotification {
        match self {
            Self::Tools => ServerNotification::ToolListChangedNotification(ToolListChangedNotification::default()),
            Self::Prompts => ServerNotification::PromptListChangedNotification(PromptListChangedNotification::default()),
            Self::Resources => ServerNotification::ResourceListChangedNotification(ResourceListChangedNotification::default()),
            Self::Resource(uri) => ServerNotification::ResourceUpdatedNotification(ResourceUpdatedNotification::new(
                ResourceUpdatedNotificationParam::new(uri),
            )),
        }
    }
}

/// Resources of which one client with `initialize` wants to know changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subscriptions(Arc<Mutex<BTreeSet<String>>>);

impl Subscriptions {
    // Held for one look-up.
    fn with<T>(&self, work: impl FnOnce(&mut BTreeSet<String>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether it is new.
    pub(super) fn add(&self, uri: &str) -> bool {
        self.with(|uris| uris.insert(uri.to_owned()))
    }

    /// Whether it was there.
    pub(super) fn remove(&self, uri: &str) -> bool {
        self.with(|uris| uris.remove(uri))
    }
}

/// Tells a client with `initialize`, until it has gone.
pub(super) async fn tell(peer: Peer<RoleServer>, surface: Arc<dyn Surface>, subscriptions: Subscriptions) {
    let Some(mut notices) = surface.notices() else { return };
    loop {
        let Ok(notice) = tokio::time::timeout(LOOK, next(&mut notices)).await else {
            if peer.is_transport_closed() {
                break;
            }
            continue;
        };
        let Some(notice) = notice else { break };
        let is_wanted = match &notice {
            Notice::Resource(uri) => subscriptions.with(|uris| uris.contains(uri)),
            Notice::Tools | Notice::Prompts | Notice::Resources => true,
        };
        if is_wanted && peer.send_notification(notice.into_notification()).await.is_err() {
            break;
        }
    }
    for uri in subscriptions.with(std::mem::take) {
        surface.unsubscribe(&uri).await;
    }
}

/// Tells a client what it listens to, until it stops.
pub(super) async fn listen(context: &SubscriptionContext, surface: &Arc<dyn Surface>) {
    let Some(mut notices) = surface.notices() else { return };
    let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
    let wanted = Wanted {
        surface: Arc::clone(surface),
        uris,
    };
    // One that cannot be subscribed to is never told.
    futures_util::future::join_all(wanted.uris.iter().map(|uri| surface.subscribe(uri))).await;
    loop {
        tokio::select! {
            notice = next(&mut notices) => {
                let Some(notice) = notice else { return };
                // What was not asked for is refused by the sink.
                let _ = context.sink().send(notice.into_notification()).await;
            }
            () = context.cancelled() => return,
        }
    }
}

/// The next notice; what a slow reader missed may have been any list.
async fn next(notices: &mut broadcast::Receiver<Notice>) -> Option<Notice> {
    match notices.recv().await {
        Ok(notice) => Some(notice),
        Err(RecvError::Lagged(_)) => Some(Notice::Tools),
        Err(RecvError::Closed) => None,
    }
}

/// Subscriptions that end with what listens, however that ends.
struct Wanted {
    surface: Arc<dyn Surface>,
    uris: Vec<String>,
}

impl Drop for Wanted {
    fn drop(&mut self) {
        let (surface, uris) = (Arc::clone(&self.surface), std::mem::take(&mut self.uris));
        if let (Ok(runtime), false) = (tokio::runtime::Handle::try_current(), uris.is_empty()) {
            runtime.spawn(async move {
                for uri in uris {
                    surface.unsubscribe(&uri).await;
                }
            });
        }
    }
}
