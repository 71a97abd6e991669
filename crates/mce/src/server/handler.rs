//! The MCP face: takes requests from rmcp and lets the [`Surface`] answer them.

use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
#[expect(deprecated, reason = "clients still use it")]
use rmcp::model::SetLevelRequestParams;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::Map;

use super::client_call::ClientCall;
use super::conversation::{self, Conversation, Open};
use super::notices::{Subscriptions, listen, tell};
use super::on_behalf::on_behalf;
use super::parking::{self, Parking};
use super::standing_client::StandingClient;
use super::surface::{self, CallOf, Context, Refusal, Surface, is_modern};
use crate::app::App;
use crate::failure::Failure;

/// Answers one client. Cheap to make; what is not about the client is the app's and the surface's.
#[derive(Clone)]
pub(crate) struct Handler {
    app: Arc<App>,
    surface: Arc<dyn Surface>,
    /// The client between its requests. That of the process is known to the MCP servers; another client has one of its own, so
    /// that none is told what another said.
    client: Arc<StandingClient>,
    parking: Arc<Parking>,
    subscriptions: Subscriptions,
}

impl Handler {
    /// A handler with the surface of the settings.
    ///
    /// # Errors
    ///
    /// A failure of type `config` if this version does not have it.
    pub(crate) fn new(app: Arc<App>, client: Arc<StandingClient>) -> Result<Self, Failure> {
        let surface = surface::open(&app)?;
        let settings = &app.settings().client;
        let parking = Arc::new(Parking::new(settings.waiting_calls, settings.wait)?);
        Ok(Self {
            app,
            surface,
            client,
            parking,
            subscriptions: Subscriptions::default(),
        })
    }

    /// Begins a call, which goes on by itself from then on.
    fn begin(&self, request: CallToolRequestParams, context: &Context) -> Conversation {
        let abilities = conversation::abilities(context.client_capabilities().as_ref());
        let (call, inbox) = ClientCall::new(abilities, Arc::clone(&self.client), self.app.settings().client.wait);
        let mut behalf = on_behalf(Arc::<ClientCall>::clone(&call), context);
        behalf.client = self.app.recorded_client(&behalf);
        let (surface, is_modern) = (Arc::clone(&self.surface), is_modern(context));
        Conversation::new(call, inbox, async move {
            let call = CallOf {
                behalf: &behalf,
                is_modern,
            };
            surface.call(request, call).await
        })
    }

    /// Asks the only client for its folders, if it has any, and tells the MCP servers if they are others than before.
    async fn learn_roots(&self, context: NotificationContext<RoleServer>) {
        let has_roots = self.client.is_only() && context.peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some());
        if has_roots
            && let Some(roots) = conversation::roots(&context.peer).await
            && self.client.keep_roots(roots)
        {
            self.app.upstreams().tell_roots_changed().await;
        }
    }
}

impl Handler {
    /// One for another client.
    pub(crate) fn for_another(&self) -> Self {
        Self {
            client: Arc::default(),
            subscriptions: Subscriptions::default(),
            ..self.clone()
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut config = self.surface.config();
        config.capabilities.logging = Some(Map::new());
        config
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let told = tell(context.peer.clone(), Arc::clone(&self.surface), self.subscriptions.clone());
        tokio::spawn(told);
        self.learn_roots(context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.learn_roots(context).await;
    }

    #[expect(deprecated, reason = "clients still use it")]
    async fn set_level(&self, request: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        if let Ok(Ok(level)) = serde_json::to_value(request.level).map(serde_json::from_value) {
            self.client.set_logs(level, conversation::log_channel(context.peer));
            self.app.upstreams().tell_log_level().await;
        }
        Ok(())
    }

    async fn list_tools(&self, request: Option<PaginatedRequestParams>, context: Context) -> Result<ListToolsResult, ErrorData> {
        self.surface.list_tools(cursor(request.as_ref()), &context).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.surface.tool(name)
    }

    async fn call_tool(&self, mut request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let binding = parking::binding(&request);
        let conversation = match self.parking.take(&mut request, &binding)? {
            Some(parked) => parked,
            None => self.begin(request, &context),
        };
        let open = Open {
            context: &context,
            parking: &self.parking,
            binding: &binding,
            app: &self.app,
        };
        conversation.go_on(open).await.or_else(|refusal| match refusal {
            Refusal::Failure(failure) => Ok(CallToolResult::error(vec![ContentBlock::text(failure.to_json().to_string())]).into()),
            Refusal::Protocol(error) => Err(error),
        })
    }

    async fn list_prompts(&self, request: Option<PaginatedRequestParams>, _: Context) -> Result<ListPromptsResult, ErrorData> {
        self.surface.list_prompts(cursor(request.as_ref())).await
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, context: Context) -> Result<GetPromptResponse, ErrorData> {
        self.surface.get_prompt(request, &context).await
    }

    async fn list_resources(&self, request: Option<PaginatedRequestParams>, _: Context) -> Result<ListResourcesResult, ErrorData> {
        self.surface.list_resources(cursor(request.as_ref())).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.surface.list_templates(cursor(request.as_ref())).await
    }

    async fn read_resource(&self, request: ReadResourceRequestParams, context: Context) -> Result<ReadResourceResponse, ErrorData> {
        self.surface.read_resource(request, &context).await
    }

    async fn complete(&self, request: CompleteRequestParams, context: Context) -> Result<CompleteResult, ErrorData> {
        if self.surface.config().capabilities.completions.is_none() {
            return Err(ErrorData::method_not_found::<rmcp::model::CompleteRequestMethod>());
        }
        self.surface.complete(request, &context).await
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        if self.subscriptions.add(&request.uri) {
            let subscribed = self.surface.subscribe(&request.uri).await;
            if subscribed.is_err() {
                self.subscriptions.remove(&request.uri);
            }
            return subscribed;
        }
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        if self.subscriptions.remove(&request.uri) {
            self.surface.unsubscribe(&request.uri).await;
        }
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.surface.notices().map(|_| requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        listen(&context, &self.surface).await;
        Ok(())
    }
}

fn cursor(request: Option<&PaginatedRequestParams>) -> Option<&str> {
    request.and_then(|request| request.cursor.as_deref())
}
