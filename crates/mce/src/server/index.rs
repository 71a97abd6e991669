//! Which servers there are, in a few words: a part of the description of `execute_code`, so that a model knows what it can reach
//! before it asks. The same servers give the same text, which clients can keep in their caches.

use mce_catalog::catalog::ServerSummary;

/// Characters of the whole index, about 60 tokens.
const MAX_CHARS: usize = 240;
/// Characters of what a server is for, where there is room for it, and where there is less.
const ABOUT_CHARS: [usize; 3] = [60, 30, 0];

/// All servers in the order of the configuration; as many as fit, and how many others.
pub(super) fn index(servers: &[ServerSummary]) -> String {
    if servers.is_empty() {
        return "Servers: none yet.".to_owned();
    }
    let forms = ABOUT_CHARS.iter().map(|about| {
        let entries: Vec<String> = servers.iter().map(|server| entry(server, *about)).collect();
        format!("Servers: {}.", entries.join(", "))
    });
    let whole = forms.into_iter().find(|text| text.chars().count() <= MAX_CHARS);
    whole.unwrap_or_else(|| first_names(servers))
}

fn first_names(servers: &[ServerSummary]) -> String {
    let mut text = "Servers: ".to_owned();
    for (index, server) in servers.iter().enumerate() {
        let rest = format!("and {} more (`list_servers`).", servers.len() - index);
        if text.chars().count() + server.name.len() + 2 + rest.len() > MAX_CHARS {
            text.push_str(&rest);
            break;
        }
        text.extend([server.name.as_str(), ", "]);
    }
    text
}

/// The name, and what it is for: the text of a document, in one line, without what could end it.
fn entry(server: &ServerSummary, about: usize) -> String {
    let said = if server.title.is_empty() {
        &server.description
    } else {
        &server.title
    };
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain: String = said.chars().filter(|c| !c.is_control() && !"()`\"".contains(*c)).collect();
    let mut short: String = plain.chars().take(about).collect();
    if short.len() < plain.len() {
        let end = short.rfind(' ').unwrap_or(0);
        short.truncate(end);
    }
    let short = short.trim_end_matches(['.', ',', ';', ':']);
    // A title that is the name says nothing.
    let is_name = short.to_lowercase().replace([' ', '-', '.'], "_") == server.name;
    if short.is_empty() || is_name {
        server.name.clone()
    } else {
        format!("{} ({short})", server.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, title: &str) -> ServerSummary {
        ServerSummary {
            name: name.to_owned(),
            title: title.to_owned(),
            description: String::new(),
            functions: 1,
            is_read_only: false,
            is_compiled: true,
            is_optional: false,
        }
    }

    #[test]
    fn servers_are_told_with_what_they_are_for_as_far_as_there_is_room() {
        assert_eq!(index(&[]), "Servers: none yet.");
        let few = [
            server("github", "GitHub v3 REST API"),
            server("shop", "Shop"),
            server(
                "x",
                "A very `long` (title) of a server\nthat says more than anybody wants to know of it",
            ),
        ];
        assert_eq!(
            index(&few),
            "Servers: github (GitHub v3 REST API), shop, x (A very long title of a server that says more than anybody)."
        );
        let some: Vec<_> = (0..5)
            .map(|number| server(&format!("server_{number}"), "An API for things of many kinds and sizes"))
            .collect();
        assert!(index(&some).contains("server_4 (An API for things of many"), "{}", index(&some));
        let many: Vec<_> = (0..500)
            .map(|number| server(&format!("server_{number}"), "An API for things"))
            .collect();
        let text = index(&many);
        assert!(
            text.chars().count() <= MAX_CHARS && text.ends_with(" more (`list_servers`)."),
            "{text}"
        );
        let told = text.matches("server_").count();
        assert!(text.contains(&format!("and {} more", 500 - told)), "{text}");
    }
}
