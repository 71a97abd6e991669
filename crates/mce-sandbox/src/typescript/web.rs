//! Native parts of the globals that programs know from browsers: addresses, encodings, digests, chance.
//!
//! Bytes come from scripts as texts of characters up to U+00FF, and go to them as `Uint8Array`.

#![expect(clippy::needless_pass_by_value, reason = "scripts hand over what they pass")]

use std::io;

use base64::Engine as _;
use base64::alphabet::STANDARD as STANDARD_ALPHABET;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use rquickjs::function::Func;
use rquickjs::{Ctx, Exception, Object, TypedArray};
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use url::Url;

/// Padding may be missing.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD_ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Bytes of chance at once.
const RANDOM_BYTES: usize = 65_536;

/// Adds the functions.
pub(super) fn add(native: &Object<'_>) -> rquickjs::Result<()> {
    add_bytes(native)?;
    native.set("readUrl", Func::from(read_url))?;
    native.set("changeUrl", Func::from(change_url))?;
    native.set("percentDecode", Func::from(percent_decode))
}

fn add_bytes(native: &Object<'_>) -> rquickjs::Result<()> {
    native.set("base64Encode", Func::from(|text: String| STANDARD.encode(bytes_of(&text))))?;
    native.set("base64Decode", Func::from(base64_decode))?;
    native.set("utf8Encode", Func::from(utf8_encode))?;
    native.set(
        "utf8Decode",
        Func::from(|text: String, is_fatal: bool| utf8_decode(&bytes_of(&text), is_fatal)),
    )?;
    native.set("utf8Complete", Func::from(|text: String| utf8_complete(&bytes_of(&text))))?;
    native.set("digest", Func::from(digest))?;
    native.set("randomBytes", Func::from(random_array))
}

/// The bytes that the characters stand for.
fn bytes_of(text: &str) -> Vec<u8> {
    text.chars()
        .map(|character| u8::try_from(u32::from(character)).unwrap_or(b'?'))
        .collect()
}

fn base64_decode(ctx: Ctx<'_>, text: String) -> rquickjs::Result<Option<TypedArray<'_, u8>>> {
    let text = text.replace('-', "+").replace('_', "/");
    LENIENT.decode(text).ok().map(|bytes| TypedArray::new(ctx, bytes)).transpose()
}

fn utf8_encode(ctx: Ctx<'_>, text: String) -> rquickjs::Result<TypedArray<'_, u8>> {
    TypedArray::new(ctx, text.into_bytes())
}

/// None if the bytes must be UTF-8 and are not.
fn utf8_decode(bytes: &[u8], is_fatal: bool) -> Option<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text.to_owned()),
        Err(_) if is_fatal => None,
        Err(_) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// How many of the bytes are whole characters, when more may follow.
fn utf8_complete(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

fn digest(ctx: Ctx<'_>, name: String, text: String) -> rquickjs::Result<TypedArray<'_, u8>> {
    let bytes = bytes_of(&text);
    let digest = match name.as_str() {
        "sha1" => Sha1::digest(bytes).to_vec(),
        "sha256" => Sha256::digest(bytes).to_vec(),
        "sha384" => Sha384::digest(bytes).to_vec(),
        "sha512" => Sha512::digest(bytes).to_vec(),
        _ => return Err(Exception::throw_type(&ctx, "there is no such digest")),
    };
    TypedArray::new(ctx, digest)
}

fn random_array(ctx: Ctx<'_>, count: usize) -> rquickjs::Result<TypedArray<'_, u8>> {
    if count > RANDOM_BYTES {
        return Err(Exception::throw_range(&ctx, "too many random bytes are asked for"));
    }
    match random_bytes(count) {
        Ok(bytes) => TypedArray::new(ctx, bytes),
        Err(error) => Err(Exception::throw_internal(&ctx, &error.to_string())),
    }
}

/// Bytes of the system's generator.
pub(super) fn random_bytes(count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    let mut filled = 0;
    while filled < count {
        let rest = bytes.get_mut(filled..).unwrap_or_default();
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// The parts of an address in the order of `PARTS` in `url.js`; none if it is no address.
fn read_url(text: String, base: Option<String>) -> Option<Vec<String>> {
    let base = base.map(|base| Url::parse(&base)).transpose().ok()?;
    let url = Url::options().base_url(base.as_ref()).parse(&text).ok()?;
    Some(parts(&url))
}

/// The parts of an address after one of them was set; none if that is impossible, which changes nothing.
fn change_url(href: String, part: String, value: String) -> Option<Vec<String>> {
    let mut url = Url::parse(&href).ok()?;
    match part.as_str() {
        "href" => url = Url::parse(&value).ok()?,
        "protocol" => url::quirks::set_protocol(&mut url, &value).ok()?,
        "username" => url::quirks::set_username(&mut url, &value).ok()?,
        "password" => url::quirks::set_password(&mut url, &value).ok()?,
        "host" => url::quirks::set_host(&mut url, &value).ok()?,
        "hostname" => url::quirks::set_hostname(&mut url, &value).ok()?,
        "port" => url::quirks::set_port(&mut url, &value).ok()?,
        "pathname" => url::quirks::set_pathname(&mut url, &value),
        "search" => url::quirks::set_search(&mut url, &value),
        "hash" => url::quirks::set_hash(&mut url, &value),
        _ => return None,
    }
    Some(parts(&url))
}

fn parts(url: &Url) -> Vec<String> {
    use url::quirks;
    [
        quirks::href(url),
        quirks::protocol(url),
        quirks::username(url),
        quirks::password(url),
        quirks::host(url),
        quirks::hostname(url),
        quirks::port(url),
        quirks::pathname(url),
        quirks::search(url),
        quirks::hash(url),
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([quirks::origin(url)])
    .collect()
}

/// As addresses are decoded: what is no UTF-8 becomes U+FFFD.
fn percent_decode(text: String) -> String {
    percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned()
}
