//! Base URLs: the servers of operation, path and document, their variables, and Swagger 2.0's host and base path.

use url::Url;

use super::Origin;
use super::document::{Reader, Version};
use super::prose;
use super::reference::Node;
use super::walk::Found;
use crate::function::{Function, Target};

impl<'a> Reader<'a> {
    /// The base URL of an operation: absolute, without a final slash. The first server of the operation, else of the path,
    /// else of the document, each variable replaced by its default.
    pub(super) fn base_url(&mut self, found: &Found<'a>) -> Option<String> {
        let top = Node::top(self.main);
        if self.version == Version::Swagger2 {
            return self.swagger_base_url(&top, &found.node);
        }
        let server = [&found.node, &found.item, &top]
            .into_iter()
            .find_map(|holder| holder.get("servers")?.items().next());
        let Some(server) = server else {
            // Without servers the standard means `/`, relative to the document.
            return self.absolute("/", &top);
        };
        let url = self.with_defaults(&server)?;
        self.absolute(&url, &server)
    }

    /// Marks the functions at other hosts than that of the document's first server; where the document as a whole has none, that
    /// is the first of a function.
    pub(super) fn mark_elsewhere(&mut self, top: &Node<'a>, functions: &mut [Function]) {
        // What is wrong with it was told for the functions that it is for.
        let told = self.without_server.len();
        let own = top.get("servers").and_then(|servers| servers.items().next());
        let own = own.and_then(|server| {
            let url = self.with_defaults(&server)?;
            self.absolute(&url, &server)
        });
        self.without_server.truncate(told);
        let targets = functions.iter_mut().filter_map(|function| match &mut function.target {
            Target::Http(target) => Some(target),
            Target::Tool(_) => None,
        });
        let mut first = own.as_deref().and_then(host);
        for target in targets {
            let here = target.base_url.as_deref().and_then(host);
            first = first.or_else(|| here.clone());
            target.is_elsewhere = here.is_some() && here != first;
        }
    }

    /// The server's URL with each variable replaced by its default.
    fn with_defaults(&mut self, server: &Node<'a>) -> Option<String> {
        let variables = server.get("variables");
        let mut url = String::new();
        let mut rest = server.text("url").unwrap_or("/").trim();
        while let Some((literal, from)) = rest.split_once('{') {
            let (name, after) = from.split_once('}').unwrap_or((from, ""));
            let default = variables.as_ref().and_then(|variables| variables.get(name)).and_then(|variable| {
                let value = variable.get("default").or_else(|| variable.get("enum")?.items().next())?.value;
                value
                    .as_str()
                    .map(str::to_owned)
                    .or_else(|| value.is_number().then(|| value.to_string()))
            });
            let Some(default) = default else {
                let name = prose::quote(name);
                self.without_server
                    .push((server.place(), format!("the server's variable `{name}` has no default")));
                return None;
            };
            url.push_str(literal);
            url.push_str(&default);
            rest = after;
        }
        url.push_str(rest);
        Some(url)
    }

    /// A server's URL made absolute by the document's own.
    fn absolute(&mut self, url: &str, node: &Node<'a>) -> Option<String> {
        let absolute = match self.origin {
            Origin::Url(base) => base.join(url).ok(),
            Origin::File(_) if url.starts_with("//") => Url::parse(&format!("https:{url}")).ok(),
            Origin::File(_) => Url::parse(url).ok(),
        };
        let absolute = absolute.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if absolute.is_none() {
            self.without_server
                .push((node.place(), "this is no server that can be reached".to_owned()));
        }
        absolute.map(plain)
    }

    /// `schemes`, `host` and `basePath`; what is missing comes from where the document was read.
    fn swagger_base_url(&mut self, top: &Node<'a>, operation: &Node<'a>) -> Option<String> {
        let origin = match self.origin {
            Origin::Url(url) => Some(url),
            Origin::File(_) => None,
        };
        let own = |holder: &Node<'a>| holder.get("schemes").filter(|schemes| schemes.items().next().is_some());
        let schemes = own(operation).or_else(|| own(top));
        let schemes: Vec<&str> = schemes
            .iter()
            .flat_map(|list| list.items().filter_map(|scheme| scheme.value.as_str()).collect::<Vec<_>>())
            .collect();
        let usable = |wanted: &str| schemes.iter().any(|scheme| scheme.eq_ignore_ascii_case(wanted));
        let scheme = match () {
            () if usable("https") => "https",
            () if usable("http") => "http",
            () => origin.map_or("https", Url::scheme),
        };
        let base_path = top.text("basePath").unwrap_or_default().trim();
        let slash = if base_path.is_empty() || base_path.starts_with('/') {
            ""
        } else {
            "/"
        };
        let host = top.text("host").map(str::trim).filter(|host| !host.is_empty());
        let Some(host) = host else {
            let url = origin.map_or_else(String::new, |origin| format!("{scheme}://{}", origin.authority()));
            return self.absolute(&format!("{url}{slash}{base_path}"), top);
        };
        // Some write the scheme into the host.
        let host = host.split_once("://").map_or(host, |(_, host)| host).trim_end_matches('/');
        self.absolute(&format!("{scheme}://{host}{slash}{base_path}"), top)
    }
}

/// Host and port, without those that a scheme has anyway.
fn host(base_url: &str) -> Option<(String, Option<u16>)> {
    let url = Url::parse(base_url).ok()?;
    Some((url.host_str()?.to_owned(), url.port()))
}

/// Without credentials, query, fragment and final slash: paths are appended to it.
fn plain(mut url: Url) -> String {
    // Both can only fail for URLs without a host.
    let _ = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}
