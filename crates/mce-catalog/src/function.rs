//! What a callable operation or tool is, independent of where it came from. Only data; built by the `openapi` module,
//! kept by `store`, shown by `text`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One callable operation or tool, `server.function`.
///
/// Schemas are JSON Schema 2020-12 values, whatever the document's own dialect was. A named schema is
/// `{"$ref": "#/$defs/NAME"}`, where `NAME` is a key of the server's [`Types`]. `readOnly` and `writeOnly` stay in them;
/// see the views of schemas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// The server's normalised name: a Python and TypeScript identifier, lower case.
    pub server: String,
    /// `METHOD /path` exactly as in the document, or the tool's own name. Unique in its server.
    pub operation: String,
    /// The document's `operationId`, if it has one.
    pub operation_id: Option<String>,
    /// The function's identifier in Python, unique in its server also after NFKC. Also its name in the catalog.
    pub python: String,
    /// The function's identifier in TypeScript, unique in its server.
    pub typescript: String,
    /// What calling it does.
    pub effect: Effect,
    /// One line, at most 120 characters; empty if the document says nothing.
    pub summary: String,
    /// The document's description, at most 1,000 characters; empty if there is none.
    pub description: String,
    /// The document's tags, for search.
    pub tags: Vec<String>,
    /// The document marks it as deprecated.
    pub is_deprecated: bool,
    /// Required ones first, each group in document order. Never one that the broker itself fills in.
    pub parameters: Vec<Parameter>,
    /// The request body, if there is one.
    pub body: Option<Body>,
    /// The type of a successful answer; `None` where the document does not say. `{"type": "null"}` for no content.
    pub result: Option<Value>,
    /// Error answers that the document describes, by status (`404`, `4XX`, `default`), with their descriptions.
    pub errors: BTreeMap<String, String>,
    /// How further pages of its answer are asked for, as far as the document tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pagination: Option<Pagination>,
    /// How it is called.
    pub target: Target,
}

impl Function {
    /// All schemas of its parameters, its body in each media type, its result, and of a tool's arguments together.
    pub fn schemas(&self) -> impl Iterator<Item = &Value> {
        let parameters = self.parameters.iter().map(|parameter| &parameter.schema);
        let bodies = self
            .body
            .iter()
            .flat_map(|body| body.variants.iter().map(|variant| &variant.schema));
        let whole = match &self.target {
            Target::Tool(tool) => Some(&tool.input),
            Target::Http(_) => None,
        };
        parameters.chain(bodies).chain(&self.result).chain(whole)
    }
}

/// Named schemas of one server, by name. A name is a Python and TypeScript identifier in Pascal case.
pub type Types = BTreeMap<String, Value>;

/// What calling a function does to the world. For OpenAPI by method: `GET`, `HEAD`, `OPTIONS`, `QUERY`, `TRACE` read,
/// `DELETE` is destructive, all else writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Creates or changes something.
    Write,
    /// Removes something.
    Destructive,
}

impl Effect {
    /// The word used in JSON: `read`, `write` or `destructive`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

/// One argument of a function other than its body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// The name as sent.
    pub original: String,
    /// The key in arguments by original names: `original`, or `original (query)` where the plain name is taken by another
    /// place (path wins over query, header, cookie; then the request body's `body`).
    pub key: String,
    /// The argument's identifier in Python, unique in its function. The body is `body`.
    pub python: String,
    /// The argument's name in TypeScript, unique in its function; an identifier.
    pub typescript: String,
    /// Where it is sent.
    pub location: Location,
    /// Whether a call without it is refused. Path parameters always are.
    pub is_required: bool,
    /// The document marks it as deprecated.
    pub is_deprecated: bool,
    /// At most 500 characters.
    pub description: String,
    /// Its type, with `default`, `enum` and bounds.
    pub schema: Value,
    /// How its value becomes text.
    pub encoding: ParameterEncoding,
}

/// Where a parameter is sent. (OpenAPI 3.1, Parameter Object, `in`.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Location {
    /// A template expression of the path.
    Path,
    /// The query.
    Query,
    /// A header field.
    Header,
    /// A pair of the `Cookie` field.
    Cookie,
    /// The whole query string. (OpenAPI 3.2, `in: querystring`.)
    Querystring,
    /// A member of a tool's arguments.
    Argument,
}

/// How a parameter's value becomes text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterEncoding {
    /// By style. (OpenAPI 3.1, Parameter Object, Style Values.)
    Style {
        /// Which one.
        style: Style,
        /// One pair or prefix for each item.
        explode: bool,
        /// Reserved characters of RFC 3986 and percent triples pass.
        allow_reserved: bool,
    },
    /// Serialised as a media type, then percent-encoded.
    Content {
        /// The media type, as in the document.
        media_type: String,
    },
}

/// Styles of parameters. (OpenAPI 3.1, Style Values; the last is Swagger 2.0's `collectionFormat: tsv`.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Style {
    /// RFC 6570 `{a}`.
    Simple,
    /// RFC 6570 `{.a}`.
    Label,
    /// RFC 6570 `{;a}`.
    Matrix,
    /// RFC 6570 `{?a}`; also for cookies.
    Form,
    /// Items joined by `%20`.
    SpaceDelimited,
    /// Items joined by `%7C`.
    PipeDelimited,
    /// `name[key]=value`.
    DeepObject,
    /// Items joined by `%09`.
    TabDelimited,
}

/// How further pages of an answer are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pagination {
    /// What leads to the next page.
    pub advance: Advance,
    /// Where the items of a page are: names of properties, none for the answer itself. `None` if that is not known.
    pub items: Option<Vec<String>>,
}

/// What leads to the next page. A `parameter` is the key of a parameter, or `body` and the name of a property of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Advance {
    /// The `Link` field of the answer with the relation `next`. (RFC 8288)
    Links,
    /// A value in the answer: what the parameter gets next, or an address whose query says it.
    Cursor {
        /// `None` if the value is an address.
        parameter: Option<Vec<String>>,
        /// Where it is in the answer.
        next: Vec<String>,
    },
    /// The parameter gets the `id` of the last item, as long as the answer says that there is more.
    LastItem {
        /// Which one.
        parameter: Vec<String>,
    },
    /// The parameter counts pages.
    Page {
        /// Which one.
        parameter: Vec<String>,
        /// The number of the first page.
        first: i64,
    },
    /// The parameter counts items.
    Offset {
        /// Which one.
        parameter: Vec<String>,
        /// The number of the first item.
        first: i64,
    },
}

impl Advance {
    /// The parameter that leads to the next page, if there is one.
    pub fn parameter(&self) -> Option<&[String]> {
        match self {
            Self::Links => None,
            Self::Cursor { parameter, .. } => parameter.as_deref(),
            Self::LastItem { parameter } | Self::Page { parameter, .. } | Self::Offset { parameter, .. } => Some(parameter),
        }
    }
}

/// A request body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Whether a call without it is refused.
    pub is_required: bool,
    /// At most 500 characters.
    pub description: String,
    /// What may be sent, the preferred one first; never empty.
    pub variants: Vec<BodyVariant>,
}

/// One media type of a request body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BodyVariant {
    /// The media type to send: a concrete one, with the document's parameters.
    pub media_type: String,
    /// How the value becomes bytes.
    pub format: BodyFormat,
    /// The type of the value.
    pub schema: Value,
    /// Encoding Objects of form and multipart bodies, by property.
    pub encoding: BTreeMap<String, PropertyEncoding>,
}

/// How a body becomes bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyFormat {
    /// JSON, also `+json`.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/*`.
    Multipart,
    /// A text, sent as it stands; also XML.
    Text,
    /// Bytes.
    Binary,
}

/// An Encoding Object. (OpenAPI 3.1, Encoding Object.) `None` means that the document does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyEncoding {
    /// `contentType`; may be a list with commas.
    pub content_type: Option<String>,
    /// `style`.
    pub style: Option<Style>,
    /// `explode`.
    pub explode: Option<bool>,
    /// `allowReserved`.
    pub allow_reserved: Option<bool>,
}

/// How a function is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// An HTTP request.
    Http(HttpTarget),
    /// A tool of an MCP server.
    Tool(ToolTarget),
}

/// A tool. (MCP 2025-11-25, Tools.)
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolTarget {
    /// Its name as the server has it.
    pub name: String,
    /// The schema of all arguments together, an object; the function's parameters are its properties.
    pub input: Value,
    /// Arguments that the schema does not name are sent too.
    pub accepts_more: bool,
    /// The whole tool as the server wrote it, a JSON object.
    pub definition: String,
}

/// The request of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpTarget {
    /// The method as sent.
    pub method: String,
    /// The path template as in the document, without its fragment.
    pub path: String,
    /// The operation's base URL by the document: absolute, variables replaced by their defaults, no final slash.
    /// A configured base URL wins over it. `None` if the document has none, or one that cannot be made absolute.
    pub base_url: Option<String>,
    /// The base URL is at another host than that of the document's first server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_elsewhere: bool,
    /// Media types of the answers, for `Accept`, preferred first; empty if unknown.
    pub accepts: Vec<String>,
    /// What an item of an answer in `text/event-stream` is.
    #[serde(default, skip_serializing_if = "EventItem::is_untold")]
    pub event_item: EventItem,
    /// Alternatives of credentials, each a list of scheme names (keys of the document's security schemes)
    /// that are needed together. Empty: the document asks for nothing. An empty list in it: nothing is fine as well.
    pub security: Vec<Vec<String>>,
    /// The scopes that the operation needs of these schemes, where it names any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scopes: BTreeMap<String, Vec<String>>,
}

/// What one event of an answer in `text/event-stream` becomes. Data is JSON where it reads as JSON, else a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventItem {
    /// The document does not say: its data, or, if any event of the answer has a name, as `Event`.
    #[default]
    Untold,
    /// Its data.
    Data,
    /// An object with its `event`, `data`, `id` and `retry`, as far as it has them.
    Event,
    /// Likewise; `data` is always a text. (OpenAPI 3.2, Special Considerations for Server-Sent Events.)
    EventWithText,
}

impl EventItem {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    fn is_untold(&self) -> bool {
        *self == Self::Untold
    }
}

/// A security scheme that the broker can fill in. (OpenAPI 3.1, Security Scheme Object.)
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecurityScheme {
    /// `apiKey`: the secret is sent as this parameter.
    ApiKey {
        /// Query, header or cookie.
        location: Location,
        /// The parameter's name.
        name: String,
    },
    /// `http` with scheme `basic`.
    Basic,
    /// `http` with scheme `bearer`: the secret is a bearer token.
    Bearer,
    /// `http` with scheme `digest`. (RFC 7616)
    Digest,
    /// `oauth2`: a bearer token, which somebody gives for a login.
    OAuth2(OAuthPlaces),
    /// `openIdConnect`, or `oauth2` with `oauth2MetadataUrl` instead of flows: likewise; who gives it is said at this URL, as the
    /// document writes it.
    OpenIdConnect(String),
    /// `mutualTLS`: the client's certificate.
    MutualTls,
    /// `http` with another scheme, in which the secret follows its name: `SharedAccessKey SECRET`. The name is a token.
    Http(String),
    /// A kind that cannot be filled in, such as HTTP's `negotiate`; with its name.
    Other(String),
}

/// Where the document says that tokens are given. A document can say anything: whether to believe it is the broker's to decide.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthPlaces {
    /// `tokenUrl` of `clientCredentials`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Of `authorizationCode`: where a person logs in, and where the code becomes a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<(String, String)>,
    /// Of `deviceAuthorization`: where a login begins, and where the token is asked for. (OpenAPI 3.2; RFC 8628)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<(String, String)>,
    /// The scopes of the last two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}
