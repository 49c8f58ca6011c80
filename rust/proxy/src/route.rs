//! Which requests are about responses.

use std::borrow::Cow;

use http::Method;
use percent_encoding::percent_decode_str;

const RESPONSES: &str = "/v1/responses";

/// A path as servers read it: `%5F` is `_`.
pub(crate) fn decoded(path: &str) -> Cow<'_, str> {
    percent_decode_str(path).decode_utf8_lossy()
}

/// What a request asks for, as far as the proxy cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// A new response.
    Create,
    /// A stored response, by its id, that may be streamed.
    Replay(&'a str),
    /// Anything else about a stored response, such as to cancel it.
    Stored(&'a str),
    /// Everything else.
    Other,
}

impl<'a> Route<'a> {
    /// `path` is [`decoded`].
    pub(crate) fn of(method: &Method, path: &'a str) -> Self {
        let Some(rest) = path.strip_prefix(RESPONSES) else {
            return Self::Other;
        };
        if rest.is_empty() {
            return if method == Method::POST {
                Self::Create
            } else {
                Self::Other
            };
        }
        let Some(rest) = rest.strip_prefix('/') else {
            return Self::Other;
        };
        match rest.split_once('/') {
            None if method == Method::GET && !rest.is_empty() => Self::Replay(rest),
            None | Some(("", _)) if rest.is_empty() || rest.starts_with('/') => Self::Other,
            None => Self::Stored(rest),
            Some((id, _)) => Self::Stored(id),
        }
    }

    /// Whether an event stream that answers it is rewritten.
    pub(crate) fn is_rewritten(self) -> bool {
        matches!(self, Self::Create | Self::Replay(_))
    }

    /// The stored response it is about.
    pub(crate) fn response_id(self) -> Option<&'a str> {
        match self {
            Self::Replay(id) | Self::Stored(id) => Some(id),
            Self::Create | Self::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_responses_are_about_responses() {
        for (method, path, route) in [
            (Method::POST, "/v1/responses", Route::Create),
            (Method::GET, "/v1/responses", Route::Other),
            (Method::POST, "/v1/responses/", Route::Other),
            (Method::GET, "/v1/responses//x", Route::Other),
            (Method::POST, "/v1/responsesx", Route::Other),
            (Method::GET, "/v1/responses/resp_1", Route::Replay("resp_1")),
            (
                Method::DELETE,
                "/v1/responses/resp_1",
                Route::Stored("resp_1"),
            ),
            (
                Method::HEAD,
                "/v1/responses/resp_1",
                Route::Stored("resp_1"),
            ),
            (
                Method::POST,
                "/v1/responses/resp_1/cancel",
                Route::Stored("resp_1"),
            ),
            (
                Method::GET,
                "/v1/responses/resp_1/input_items",
                Route::Stored("resp_1"),
            ),
            (Method::POST, "/v1/chat/completions", Route::Other),
        ] {
            assert_eq!(Route::of(&method, path), route, "{method} {path}");
        }
    }

    #[test]
    fn a_path_is_decoded_as_servers_do_it() {
        for (path, want) in [
            ("/v1/responses", "/v1/responses"),
            ("/v1/responses/resp%5F1", "/v1/responses/resp_1"),
            ("/v1/%72esponses", "/v1/responses"),
            ("/v1/responses%2fresp_1", "/v1/responses/resp_1"),
            ("/v1/responses/resp%255F1", "/v1/responses/resp%5F1"),
            ("/%zz%4/%", "/%zz%4/%"),
            ("/a+b%20c", "/a+b c"),
            ("/%C3%A9/%FF", "/\u{e9}/\u{fffd}"),
        ] {
            assert_eq!(decoded(path), want, "{path}");
        }
    }
}
