//! Where bodies end: one length, or chunks, and nothing that is read in two ways.
//!
//! hyper takes the framing off on one side and puts its own on at the other. What it leaves to its
//! user is here: codings that it does not undo, and lengths that are said more than once.

use std::fmt;

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body::SizeHint;

/// Why a message cannot be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misframed {
    /// It has lengths that differ, or one that is no number.
    Length,
    /// Its body is coded in another way than in chunks, and would arrive without a word of it.
    Coding,
}

impl Misframed {
    /// What a client is answered that sent it.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Length => StatusCode::BAD_REQUEST,
            Self::Coding => StatusCode::NOT_IMPLEMENTED,
        }
    }

    /// What is wrong, in words.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Length => "the length of the body is not one number",
            Self::Coding => "of transfer codings only chunked is understood",
        }
    }
}

impl fmt::Display for Misframed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Misframed {}

/// Leaves one `Content-Length` at most, as RFC 9112 has it (6.3): equal ones count as one, and
/// chunks rule over all.
///
/// # Errors
///
/// The message is one that must not be passed on.
pub(crate) fn settle(headers: &mut HeaderMap) -> Result<(), Misframed> {
    if headers.contains_key(TRANSFER_ENCODING) {
        let codings = elements(headers, &TRANSFER_ENCODING);
        let codings = codings.ok_or(Misframed::Coding)?;
        if !matches!(codings.as_slice(), [only] if only.eq_ignore_ascii_case("chunked")) {
            return Err(Misframed::Coding);
        }
        headers.remove(CONTENT_LENGTH);
        return Ok(());
    }
    if !headers.contains_key(CONTENT_LENGTH) {
        return Ok(());
    }
    let lengths = elements(headers, &CONTENT_LENGTH).ok_or(Misframed::Length)?;
    let lengths: Option<Vec<u64>> = lengths.into_iter().map(length).collect();
    match lengths.as_deref() {
        Some([first, others @ ..]) if others.iter().all(|other| other == first) => {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(*first));
            Ok(())
        }
        _ => Err(Misframed::Length),
    }
}

/// Announces a body in chunks where its length is not known. Without, hyper sends none with a `GET`
/// or a `HEAD`.
pub(crate) fn announce(headers: &mut HeaderMap, body: &SizeHint) {
    if body.exact().is_none() && !headers.contains_key(CONTENT_LENGTH) {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

/// The elements of a list, if it is text.
fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Vec<&'a str>> {
    let mut found = Vec::new();
    for value in headers.get_all(name) {
        found.extend(value.to_str().ok()?.split(',').map(str::trim));
    }
    Some(found)
}

/// A number of digits alone: `parse` would take a sign.
fn length(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_length_is_left_or_chunks() {
        let length = |text| Ok(Some(text));
        for (lengths, codings, want) in [
            (&[][..], &[][..], Ok(None)),
            (&["5"], &[], length("5")),
            (&["5", "5"], &[], length("5")),
            (&["5, 5"], &[], length("5")),
            (&["5, 5", "005"], &[], length("5")),
            (&["5", "6"], &[], Err(Misframed::Length)),
            (&["5, 6"], &[], Err(Misframed::Length)),
            (&["5,"], &[], Err(Misframed::Length)),
            (&[""], &[], Err(Misframed::Length)),
            (&["+5"], &[], Err(Misframed::Length)),
            (&["0x5"], &[], Err(Misframed::Length)),
            (&["18446744073709551616"], &[], Err(Misframed::Length)),
            (&[], &["chunked"], Ok(None)),
            (&[], &["Chunked"], Ok(None)),
            (&["5"], &["chunked"], Ok(None)),
            (&["5", "6"], &["chunked"], Ok(None)),
            (&[], &["gzip, chunked"], Err(Misframed::Coding)),
            (&[], &["gzip", "chunked"], Err(Misframed::Coding)),
            (&[], &["chunked, chunked"], Err(Misframed::Coding)),
            (&[], &["identity, chunked"], Err(Misframed::Coding)),
            (&[], &["identity"], Err(Misframed::Coding)),
            (&[], &["gzip"], Err(Misframed::Coding)),
            (&["5"], &["gzip"], Err(Misframed::Coding)),
            (&[], &["chunked;a=b"], Err(Misframed::Coding)),
            (&[], &[""], Err(Misframed::Coding)),
        ] {
            let mut headers = HeaderMap::new();
            for value in lengths {
                headers.append(CONTENT_LENGTH, HeaderValue::from_static(value));
            }
            for value in codings {
                headers.append(TRANSFER_ENCODING, HeaderValue::from_static(value));
            }
            let left = settle(&mut headers);
            let left = left.map(|()| headers.get(CONTENT_LENGTH).map(HeaderValue::as_bytes));
            let want = want.map(|want: Option<&str>| want.map(str::as_bytes));
            assert_eq!(left, want, "{lengths:?} {codings:?}");
            assert!(headers.get_all(CONTENT_LENGTH).iter().count() <= 1 || left.is_err());
        }
    }
}
