//! Walks JSON text by its structure, without decoding it.
//!
//! The walker finds where the members of an object and the elements of an array lie, so that
//! one of them can be replaced and all other bytes kept (C9). It follows strings and brackets
//! only: text that is no JSON gives `None` or spans inside the text, never a panic. Time is
//! linear and nothing is kept for nested values, however deep.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// The key, without its quotes.
    pub(crate) key: Range<usize>,
    /// The value, without white space around it.
    pub(crate) value: Range<usize>,
}

/// Visits the members of the object that starts at `at`; returns where it ends.
pub(crate) fn object(json: &[u8], at: usize, mut visit: impl FnMut(Member)) -> Option<usize> {
    let mut at = skip_space(json, opened(json, at, b'{')?);
    if json.get(at) == Some(&b'}') {
        return Some(at + 1);
    }
    loop {
        let start = opened(json, at, b'"')?;
        let end = string_end(json, start)?;
        let colon = skip_space(json, end + 1);
        let value = value(json, skip_space(json, opened(json, colon, b':')?))?;
        let after = skip_space(json, value.end);
        visit(Member {
            key: start..end,
            value,
        });
        match json.get(after)? {
            b',' => at = skip_space(json, after + 1),
            b'}' => return Some(after + 1),
            _ => return None,
        }
    }
}

/// Visits the elements of the array that starts at `at`; returns where it ends.
pub(crate) fn array(json: &[u8], at: usize, mut visit: impl FnMut(Range<usize>)) -> Option<usize> {
    let mut at = skip_space(json, opened(json, at, b'[')?);
    if json.get(at) == Some(&b']') {
        return Some(at + 1);
    }
    loop {
        let value = value(json, at)?;
        let after = skip_space(json, value.end);
        visit(value);
        match json.get(after)? {
            b',' => at = skip_space(json, after + 1),
            b']' => return Some(after + 1),
            _ => return None,
        }
    }
}

/// The first position from `at` that is no white space.
pub(crate) fn skip_space(json: &[u8], at: usize) -> usize {
    let rest = json.get(at..).unwrap_or_default();
    let space = rest
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    at + space.unwrap_or(rest.len())
}

/// A key as it is meant: most are their own bytes.
pub(crate) fn key<'a>(json: &'a [u8], member: &Member) -> Cow<'a, [u8]> {
    let raw = json.get(member.key.clone()).unwrap_or_default();
    if memchr(b'\\', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    let quoted = json
        .get(member.key.start.saturating_sub(1)..=member.key.end)
        .unwrap_or_default();
    match serde_json::from_slice::<String>(quoted) {
        Ok(key) => Cow::Owned(key.into_bytes()),
        Err(_) => Cow::Borrowed(raw),
    }
}

/// Bytes as a client decodes them: what is no UTF-8 is U+FFFD.
pub(crate) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly all is UTF-8, of which the check alone takes a fraction.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The text of a value that is a string, as a client decodes it.
pub(crate) fn text(json: &[u8], value: Range<usize>) -> Option<Cow<'_, str>> {
    let quoted = json.get(value)?;
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    match decoded(inner) {
        text if memchr(b'\\', inner).is_none() => Some(text),
        Cow::Borrowed(_) => serde_json::from_slice(quoted).ok().map(Cow::Owned),
        Cow::Owned(_) => {
            let quoted = decoded(quoted);
            serde_json::from_str(&quoted).ok().map(Cow::Owned)
        }
    }
}

/// Where the value of the member `name` lies in an object; of several, the last counts.
pub(crate) fn member(json: &[u8], name: &str) -> Option<Range<usize>> {
    let mut found = None;
    object(json, skip_space(json, 0), |member| {
        if *key(json, &member) == *name.as_bytes() {
            found = Some(member.value);
        }
    })?;
    found
}

/// The string member `name` of an object.
pub(crate) fn member_text<'a>(json: &'a [u8], name: &str) -> Option<Cow<'a, str>> {
    text(json, member(json, name)?)
}

/// What stands between the quotes of a string, as a client decodes it.
///
/// What cannot be decoded, such as half a surrogate pair, stands for itself.
pub(crate) fn unescaped(raw: &[u8]) -> Cow<'_, str> {
    if memchr(b'\\', raw).is_none() {
        return decoded(raw);
    }
    let quoted = [b"\"", raw, b"\""].concat();
    let text = text(&quoted, 0..quoted.len()).map(Cow::into_owned);
    text.map_or_else(|| decoded(raw), Cow::Owned)
}

/// How many bytes at the end of what stands between the quotes of a string are the first half of
/// a surrogate pair, whose other half may come with more text.
pub(crate) fn half_a_pair(raw: &[u8]) -> usize {
    const LENGTH: usize = r"\ud83c".len();
    let start = raw.len().saturating_sub(LENGTH);
    let Some([b'\\', b'u', b'd' | b'D', digit, _, _]) = raw.get(start..) else {
        return 0;
    };
    let is_high = matches!(digit, b'8' | b'9' | b'a' | b'b' | b'A' | b'B');
    let before = raw.get(..start).unwrap_or_default().iter().rev();
    let is_escaped = before.take_while(|byte| **byte == b'\\').count() % 2 == 1;
    if is_high && !is_escaped { LENGTH } else { 0 }
}

/// The value of a number that counts something.
pub(crate) fn count(json: &[u8], value: Range<usize>) -> Option<u64> {
    let digits = json.get(value)?;
    let digits = std::str::from_utf8(digits).ok()?;
    if digits.starts_with('+') {
        return None;
    }
    digits.parse().ok()
}

/// The value of an index: one that is no count, such as -1, is beyond all others.
pub(crate) fn index(json: &[u8], value: Range<usize>) -> Option<u64> {
    match count(json, value.clone()) {
        None if json.get(value)? != b"null" => Some(u64::MAX),
        count => count,
    }
}

/// Where the quote is that ends the string whose text starts at `at`.
pub(crate) fn string_end(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let found = at + memchr2(b'"', b'\\', json.get(at..)?)?;
        if json.get(found) == Some(&b'"') {
            return Some(found);
        }
        at = found + 2;
    }
}

fn opened(json: &[u8], at: usize, bracket: u8) -> Option<usize> {
    (json.get(at) == Some(&bracket)).then_some(at + 1)
}

fn value(json: &[u8], at: usize) -> Option<Range<usize>> {
    let end = match json.get(at)? {
        b'"' => string_end(json, at + 1)? + 1,
        b'{' | b'[' => container_end(json, at)?,
        _ => scalar_end(json, at),
    };
    (end > at).then_some(at..end)
}

fn scalar_end(json: &[u8], at: usize) -> usize {
    let rest = json.get(at..).unwrap_or_default();
    let length = rest.iter().position(|byte| {
        matches!(
            byte,
            b',' | b':' | b']' | b'}' | b'"' | b'[' | b'{' | ..=b' '
        )
    });
    at + length.unwrap_or(rest.len())
}

/// Where the object or array that starts at `at` ends.
fn container_end(json: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        let rest = json.get(at..)?;
        let length = rest
            .iter()
            .position(|byte| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'))?;
        at += length + 1;
        match rest.get(length)? {
            b'"' => at = string_end(json, at)? + 1,
            b'{' | b'[' => depth += 1,
            _ => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(json: &str) -> Option<Vec<(String, String)>> {
        let mut found = Vec::new();
        let bytes = json.as_bytes();
        let end = object(bytes, 0, |member| {
            let name = decoded(&key(bytes, &member)).into_owned();
            found.push((name, json[member.value].to_owned()));
        })?;
        assert_eq!(end, json.len());
        Some(found)
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn values_are_found_by_structure_not_by_text() {
        assert_eq!(
            members(r#"{ "a" :"}\",\"x\":1" , "b":{"c":["]",{}]},"d":-1.50e3,"e":null }"#),
            Some(vec![
                pair("a", r#""}\",\"x\":1""#),
                pair("b", r#"{"c":["]",{}]}"#),
                pair("d", "-1.50e3"),
                pair("e", "null"),
            ])
        );
        assert_eq!(members("{}"), Some(Vec::new()));
    }

    #[test]
    fn an_escaped_key_is_the_key_it_means() {
        assert_eq!(
            members(r#"{"item\u005fid":1}"#),
            Some(vec![pair("item_id", "1")])
        );
    }

    #[test]
    fn elements_are_found_too() {
        let json = br#"[ {"a":[1]} ,"x",3]"#;
        let mut found = Vec::new();
        assert_eq!(array(json, 0, |span| found.push(span)), Some(json.len()));
        assert_eq!(found, [2..11, 13..16, 17..18]);
    }

    #[test]
    fn what_is_cut_or_broken_gives_nothing() {
        let whole = br#"{"a":"\"","b":[{"c":1}, 2]}"#;
        for cut in 0..whole.len() {
            assert_eq!(object(&whole[..cut], 0, |_| ()), None, "cut at {cut}");
        }
        for broken in [
            r#"{"a" 1}"#,
            r#"{"a":1 "b":2}"#,
            r"{a:1}",
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r"[1]",
        ] {
            assert_eq!(members(broken), None, "{broken}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(1 << 20), "]".repeat(1 << 20));
        assert_eq!(object(deep.as_bytes(), 0, |_| ()), Some(deep.len()));
    }

    #[test]
    fn text_and_counts_are_read_where_they_are_such() {
        let json = br#"["plain","\u0061\/b",7,-7,7.0,"7"]"#;
        let mut texts = Vec::new();
        let mut counts = Vec::new();
        array(json, 0, |span| {
            texts.push(text(json, span.clone()).map(Cow::into_owned));
            counts.push(count(json, span));
        });
        assert_eq!(texts[..2], [Some("plain".into()), Some("a/b".into())]);
        assert_eq!(counts, [None, None, Some(7), None, None, None]);
    }

    #[test]
    fn half_a_pair_is_the_first_half_of_one_that_is_not_escaped() {
        for raw in [r"\ud83c", r"a\uDBFF", r"\\\ud800"] {
            assert_eq!(half_a_pair(raw.as_bytes()), 6, "{raw}");
        }
        for raw in [
            "",
            "ud83c",
            r"\ud83",
            r"\udf0a",
            r"\\ud83c",
            r"\u0041",
            r"\ud83c\udf0a",
        ] {
            assert_eq!(half_a_pair(raw.as_bytes()), 0, "{raw}");
        }
    }
}
