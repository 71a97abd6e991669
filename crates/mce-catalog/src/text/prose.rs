//! Texts from documents, cleaned so that they can stand in a comment or on a line.

/// `text` on one line, at most `limit` characters, without control, format and line-breaking characters.
pub fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut is_space_due = false;
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() || is_invisible(c) {
            is_space_due |= !is_invisible(c) && !line.is_empty();
            continue;
        }
        if count + usize::from(is_space_due) >= limit {
            line.push('…');
            return line;
        }
        if std::mem::take(&mut is_space_due) {
            line.push(' ');
            count += 1;
        }
        line.push(c);
        count += 1;
    }
    line
}

/// `text` as lines, at most `limit` characters, without empty lines in a row.
pub(super) fn paragraph(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let left = limit.saturating_sub(out.chars().count());
        let line = one_line(line, left);
        if line.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&line);
        if line.ends_with('…') {
            break;
        }
    }
    out
}

/// Whether a character may not stand in source text as it is: it breaks lines, is invisible, or reorders other text.
pub(super) fn is_unsafe(c: char) -> bool {
    c.is_control() || is_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Characters that show as nothing, or change the order in which others show.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
