//! Human text of documents: bounded, without markup that only makes sense on a page, without characters that could
//! hide or reorder other text.

/// HTML elements that are taken out; anything else in angle brackets is a placeholder that the text means.
const ELEMENTS: &str = "\
    a abbr aside b blockquote br caption center cite code dd del details div dl dt em figure font h1 h2 h3 h4 h5 h6 hr i \
    img ins kbd li mark note ol p picture pre s samp section small source span strike strong sub summary sup table tbody \
    td tfoot th thead tr tt u ul var video wbr";

/// One line of at most `limit` characters.
pub(super) fn line(text: &str, limit: usize) -> String {
    let cleaned = clean(head(text, limit));
    shorten(&cleaned.split_whitespace().collect::<Vec<_>>().join(" "), limit)
}

/// The first sentence of a text, on one line of at most `limit` characters.
pub(super) fn first_sentence(text: &str, limit: usize) -> String {
    let text = line(text, limit.saturating_mul(4));
    let mut end = text.len();
    for (at, found) in text.match_indices(['.', '!', '?']) {
        let after = at + found.len();
        let rest = text.get(after..).unwrap_or_default();
        // Not in `e.g. this`, `v1.2` or a host's name.
        let before = text.get(..at).unwrap_or_default();
        let is_abbreviation = before.ends_with("e.g") || before.ends_with("i.e") || before.ends_with("etc") || before.len() < 4;
        if rest.starts_with(' ') && !is_abbreviation {
            end = after;
            break;
        }
    }
    shorten(text.get(..end).unwrap_or(&text), limit)
}

/// Several lines of at most `limit` characters together: no space at their ends, no two empty lines in a row.
pub(super) fn paragraphs(text: &str, limit: usize) -> String {
    let cleaned = clean(head(text, limit));
    let mut out = String::new();
    let mut empty_lines = 0;
    for line in cleaned.lines() {
        let line = line.trim_end();
        if line.is_empty() {
            empty_lines += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if empty_lines > 0 { "\n\n" } else { "\n" });
        }
        empty_lines = 0;
        out.push_str(line);
    }
    shorten(out.trim(), limit)
}

/// A name from a document as it may stand in a message: short, on one line, without invisible characters.
pub(super) fn quote(name: &str) -> String {
    let name: String = name
        .chars()
        .take(200)
        .map(|c| if is_plain(c) && c != '\n' { c } else { ' ' })
        .collect();
    shorten(&name.replace('`', "'"), 160)
}

/// Cleaning takes time in proportion to the text; of a huge one only the head can be shown anyway.
fn head(text: &str, limit: usize) -> &str {
    let end = text.char_indices().nth(limit.saturating_mul(4)).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let cut: String = text.chars().take(limit.saturating_sub(1)).collect();
    // At the end of a word, unless that loses much.
    let end = cut
        .rfind(char::is_whitespace)
        .filter(|end| *end * 4 > cut.len() * 3)
        .unwrap_or(cut.len());
    format!("{}…", cut.get(..end).unwrap_or(&cut).trim_end())
}

/// Without HTML elements, comments, pictures and invisible characters.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '!']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(length) = markup_length(from) {
            // Words on both sides of a tag stay apart.
            if from.starts_with('<') && !out.ends_with(char::is_whitespace) && !out.is_empty() {
                out.push(' ');
            }
            rest = from.get(length..).unwrap_or_default();
        } else {
            let mut chars = from.chars();
            out.extend(chars.next());
            rest = chars.as_str();
        }
    }
    out.push_str(rest);
    out.retain(is_plain);
    out
}

/// How many bytes of the start of `text` are an HTML tag, an HTML comment or a picture of markdown.
fn markup_length(text: &str) -> Option<usize> {
    const NEAR: usize = 2000;
    if let Some(comment) = text.strip_prefix("<!--") {
        return comment.find("-->").map(|end| end + 7);
    }
    if let Some(picture) = text.strip_prefix("![") {
        let alt_end = picture.find("](").filter(|end| *end < NEAR)?;
        let close = picture.get(alt_end..)?.find(')').filter(|end| *end < NEAR)?;
        return Some(2 + alt_end + close + 1);
    }
    let inner = text.strip_prefix('<')?;
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let name_length = inner.find(|c: char| !c.is_ascii_alphanumeric())?;
    let name = inner.get(..name_length)?.to_ascii_lowercase();
    ELEMENTS.split_ascii_whitespace().find(|element| *element == name)?;
    let close = text.find('>').filter(|end| *end < NEAR)?;
    Some(close + 1)
}

/// Neither a control character nor one that is invisible or changes the direction of text.
fn is_plain(c: char) -> bool {
    match c {
        '\n' => true,
        '\t' => true,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => false,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => false,
        _ => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_first_sentence() {
        let check = |text: &str, expected: &str| assert_eq!(first_sentence(text, 40), expected);
        check("Gets a pet. And more.", "Gets a pet.");
        check("Gets v1.2 of a pet", "Gets v1.2 of a pet");
        check("Use e.g. this one. Not that.", "Use e.g. this one.");
        check("a\n  b\tc", "a b c");
        check("one two three four five six seven eight nine", "one two three four five six seven…");
        check("", "");
    }

    #[test]
    fn markup_goes_and_placeholders_stay() {
        let check = |text: &str, expected: &str| assert_eq!(line(text, 80), expected);
        check("a<br/>b <p class='x'>c</p>", "a b c");
        check("see ![logo](http://x/y.png) here", "see here");
        check("send <token> or <id>!", "send <token> or <id>!");
        check("a<!-- hidden -->b", "a b");
        check("<script>x", "<script>x");
    }

    #[test]
    fn invisible_characters_go() {
        assert_eq!(line("a\u{202e}b\u{200b}c\u{0}d\u{2028}e", 80), "abcde");
    }

    #[test]
    fn paragraphs_keep_their_lines() {
        assert_eq!(paragraphs("a  \n\n\n\nb\nc\n", 80), "a\n\nb\nc");
        assert_eq!(paragraphs(&"x".repeat(3000), 1000).chars().count(), 1000);
    }
}
