//! Images and audio in a run's value, as tools give them, become content blocks of its answer.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mce_sandbox::Content;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

/// Blocks that are taken out of one value.
const MAX_BLOCKS: usize = 32;

/// An `ImageContent` or `AudioContent`. (MCP 2025-11-25, Tool Result.)
#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    data: String,
    #[serde(rename = "mimeType")]
    mime_type: String,
}

/// Takes the blocks out of a value that is one, or a list with some; each leaves a note of which content block it is. Other
/// values stay byte for byte.
pub(super) fn take_blocks(data: Box<RawValue>, contents: &mut Vec<Content>) -> Box<RawValue> {
    if !data.get().contains("\"mimeType\"") {
        return data;
    }
    if let Some(note) = take(&data, contents) {
        return note;
    }
    let Ok(mut items) = serde_json::from_str::<Vec<Box<RawValue>>>(data.get()) else {
        return data;
    };
    let mut is_changed = false;
    for item in &mut items {
        if let Some(note) = take(item, contents) {
            *item = note;
            is_changed = true;
        }
    }
    if is_changed { to_raw_value(&items).unwrap_or(data) } else { data }
}

fn take(value: &RawValue, contents: &mut Vec<Content>) -> Option<Box<RawValue>> {
    let block: Block = serde_json::from_str(value.get()).ok()?;
    let is_media = matches!(block.kind.as_str(), "image" | "audio") && block.mime_type.starts_with(&format!("{}/", block.kind));
    let data = BASE64_STANDARD.decode(&block.data).ok()?;
    if !is_media || contents.len() >= MAX_BLOCKS {
        return None;
    }
    contents.push(Content {
        mime_type: block.mime_type.clone(),
        data,
    });
    to_raw_value(&json!({"type": block.kind, "mimeType": block.mime_type, "content_block": contents.len()})).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, expected: &str, blocks: usize) {
        let mut contents = Vec::new();
        let data = RawValue::from_string(value.to_owned()).unwrap();
        assert_eq!(take_blocks(data, &mut contents).get(), expected);
        assert_eq!(contents.len(), blocks);
    }

    #[test]
    fn images_and_audio_become_blocks_and_all_else_stays_as_it_is() {
        let image = r#"{"type":"image","data":"AAEC","mimeType":"image/png"}"#;
        let note = r#"{"type":"image","mimeType":"image/png","content_block":1}"#;
        check(image, note, 1);
        check(
            &format!("[123456789012345678901234567890, {image}]"),
            &format!("[123456789012345678901234567890,{note}]"),
            1,
        );
        for other in [
            r#"{"mimeType":  1}"#,
            r#"{"type":"image","data":"no base64!","mimeType":"image/png"}"#,
            r#"{"type":"image","data":"AAEC","mimeType":"text/html"}"#,
            r#"{"type":"resource","mimeType":"image/png"}"#,
            r#"[ {"mimeType": "x"} ]"#,
        ] {
            check(other, other, 0);
        }
    }
}
