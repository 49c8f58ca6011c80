//! Places at the upstream, made places at the proxy.

use http::header::{CONTENT_LOCATION, LOCATION};
use http::{HeaderMap, HeaderValue};

/// Makes a `Location` at the upstream one at the proxy, or it would lead clients around it.
///
/// Upstream calls itself by the `Host` that it was asked for. What cannot be told for certain stays
/// as upstream sent it.
pub(crate) fn rewrite(headers: &mut HeaderMap, host: &HeaderValue) {
    for name in [LOCATION, CONTENT_LOCATION] {
        let mut values = headers.get_all(&name).iter();
        let (first, second) = (values.next(), values.next());
        if let (Some(value), None) = (first, second)
            && let Some(path) = path_at(value, host)
        {
            headers.insert(name, path);
        }
    }
}

/// The path of a URL at `host`, if whoever reads it alone takes it for a path, too.
///
/// Browsers drop tabs, and read `\` as `/`: `/<TAB>/elsewhere` and `/\elsewhere` are other hosts
/// there.
fn path_at(url: &HeaderValue, host: &HeaderValue) -> Option<HeaderValue> {
    let (scheme, rest) = url.to_str().ok()?.split_once("://")?;
    let host = host.to_str().ok()?;
    let (authority, path) = rest.split_at_checked(host.len())?;
    let is_there = authority.eq_ignore_ascii_case(host)
        && (scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"));
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    if !is_there || !path.bytes().all(is_plain) {
        return None;
    }
    match path.as_bytes() {
        // Two slashes would begin another authority.
        [b'/', b'/', ..] => None,
        [b'/', ..] => path.parse().ok(),
        [] | [b'?' | b'#', ..] => format!("/{path}").parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    const UPSTREAM: &str = "there:8000";

    /// What becomes of a `Location`.
    fn rewritten(said: &[u8]) -> Vec<u8> {
        let said = HeaderValue::from_bytes(said).expect("a value");
        let mut headers =
            HeaderMap::from_iter([(LOCATION, said.clone()), (CONTENT_LOCATION, said)]);
        rewrite(&mut headers, &HeaderValue::from_static(UPSTREAM));
        assert_eq!(headers[LOCATION], headers[CONTENT_LOCATION]);
        headers[LOCATION].as_bytes().to_vec()
    }

    #[test]
    fn a_place_at_the_upstream_is_one_at_the_proxy() {
        for (said, want) in [
            ("http://there:8000/v1/models?a=b#c", "/v1/models?a=b#c"),
            ("https://There:8000", "/"),
            ("HTTP://there:8000/a", "/a"),
            ("http://there:8000?a", "/?a"),
            ("http://there:8000#a", "/#a"),
            ("http://there:8000?//elsewhere", "/?//elsewhere"),
            ("http://there:8000/a//b", "/a//b"),
            ("http://there:8000/%09/elsewhere", "/%09/elsewhere"),
            ("http://there:8000/.//elsewhere", "/.//elsewhere"),
            ("http://there:8000/@elsewhere", "/@elsewhere"),
        ] {
            assert_eq!(rewritten(said.as_bytes()), want.as_bytes(), "{said}");
            same_place(said.as_bytes());
        }
    }

    #[test]
    fn what_is_not_certain_stays() {
        let mut said: Vec<&[u8]> = [
            "",
            "/v1/models",
            "//elsewhere/",
            "/\\elsewhere/",
            "http://elsewhere/",
            "http://there:80001/",
            "http://there:8000:1/",
            "http://there/",
            "http://there:8000@elsewhere/",
            "http://there:8000.elsewhere/",
            "http://there:8000\\elsewhere/",
            "http://there:8000\\@elsewhere/",
            "http://there:8000//elsewhere/",
            "http://there:8000///elsewhere/",
            "http://there:8000/\\elsewhere/",
            "http://there:8000\\/elsewhere/",
            "http://there:8000\\\\elsewhere/",
            "http://there:8000/\t/elsewhere/",
            "http://there:8000/\t\\elsewhere/",
            "http://there:8000/a\tb",
            "http://there:8000/ /elsewhere/",
            "http://there:8000/a\\b",
            "http://there:8000\t/elsewhere/",
            "http://there:8000 /elsewhere/",
            "http:/there:8000/a",
            "http:there:8000/a",
            "http:\\\\there:8000/a",
            "ht\ttp://there:8000/a",
            "ftp://there:8000/a",
            "javascript://there:8000/%0Aalert(1)",
            "url=http://there:8000/a",
        ]
        .map(str::as_bytes)
        .to_vec();
        said.push(b"http://there:8000/\xc2\xa0/elsewhere/");
        said.push(b"http://there:8000/\xff/elsewhere/");
        for said in said {
            let text = String::from_utf8_lossy(said);
            assert_eq!(rewritten(said), said, "{text}");
            same_place(said);
        }
    }

    #[test]
    fn one_of_two_is_not_dropped() {
        let said = ["http://there:8000/a", "http://there:8000/b"].map(HeaderValue::from_static);
        let mut headers = HeaderMap::new();
        for value in &said {
            headers.append(LOCATION, value.clone());
        }
        rewrite(&mut headers, &HeaderValue::from_static(UPSTREAM));
        assert!(headers.get_all(LOCATION).iter().eq(&said));
    }

    /// Every URL of up to four pieces that are read differently in different places.
    #[test]
    fn no_combination_leads_elsewhere() {
        const PIECES: [&str; 14] = [
            "/",
            "\\",
            "\t",
            " ",
            "?",
            "#",
            "@",
            ":",
            ".",
            "..",
            "%2f",
            "%5c",
            "elsewhere",
            "\u{e9}",
        ];
        for number in 0..PIECES.len().pow(4) {
            let mut said = "http://there:8000".to_owned();
            let mut left = number;
            while left > 0 {
                said.push_str(PIECES[left % PIECES.len()]);
                left /= PIECES.len();
            }
            same_place(said.as_bytes());
        }
    }

    /// Holds that a browser finds at the proxy what it would have found at the upstream, and that
    /// only what leads to the upstream is changed.
    fn same_place(said: &[u8]) {
        let rewritten = rewritten(said);
        if rewritten == said {
            return;
        }
        let text = String::from_utf8(rewritten).expect("text");
        let said = str::from_utf8(said).expect("text");
        let asked = |host: &str| Url::parse(&format!("http://{host}/v1/x")).expect("a URL");
        let direct = asked(UPSTREAM).join(said).expect("a URL");
        let through = asked("proxy:8001").join(&text).expect("a URL");
        let place = |url: &Url| (url.host_str().map(str::to_owned), url.port());
        let at = |host: &str, port| (Some(host.to_owned()), Some(port));
        assert_eq!(place(&direct), at("there", 8000), "{said:?}");
        assert_eq!(place(&through), at("proxy", 8001), "{said:?}: {text:?}");
        let rest = |url: &Url| url[url::Position::BeforePath..].to_owned();
        assert_eq!(rest(&direct), rest(&through), "{said:?}: {text:?}");
    }
}
