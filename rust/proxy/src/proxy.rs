//! The way of a request: checked, sent to an upstream, answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, StatusCode, Version};
use http_body::Body as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use sse_rewrite::{Policy, SseRewriter};
use tokio_util::task::TaskTracker;

use crate::BoxError;
use crate::accept;
use crate::affinity::{Affinity, Learner, previous_response_id};
use crate::balance::Balancer;
use crate::body::Answer;
use crate::broken::BreaksOff;
use crate::client::{Client, Failed};
use crate::framing;
use crate::headers::{self, Peer};
use crate::idle::Idle;
use crate::location;
use crate::loops;
use crate::metrics::Metrics;
use crate::route::{self, Route};
use crate::stream::Rewritten;
use crate::upload::{Unread, Upload};
use crate::upstream::Upstream;

pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// What all requests share.
pub(crate) struct Proxy {
    client: Client,
    balancer: Arc<Balancer>,
    /// Only with several upstreams.
    affinity: Option<Arc<Affinity>>,
    metrics: Arc<Metrics>,
    /// What is wanted of event streams beyond the contract.
    policy: Policy,
    /// How much of a request is read to find the response it goes on from.
    body_limit: u64,
    /// Whether a request was longer, and somebody was told.
    was_longer: AtomicBool,
    name: loops::Name,
    /// Connections that are no HTTP any more.
    tunnels: TaskTracker,
}

impl Proxy {
    pub(crate) fn new(
        tls: ClientConfig,
        balancer: Arc<Balancer>,
        metrics: Arc<Metrics>,
        policy: Policy,
        body_limit: u64,
    ) -> Self {
        let several = balancer.all().len() > 1;
        Self {
            client: Client::new(tls),
            balancer,
            affinity: several.then(|| Arc::new(Affinity::new())),
            metrics,
            policy,
            body_limit,
            was_longer: AtomicBool::new(false),
            name: loops::Name::new(),
            tunnels: TaskTracker::new(),
        }
    }

    /// Connections to upstreams that wait for their next request.
    pub(crate) fn idle(&self) -> Arc<Idle> {
        self.client.idle()
    }

    pub(crate) fn tunnels(&self) -> &TaskTracker {
        &self.tunnels
    }

    /// Answers a request.
    pub(crate) async fn answer(
        &self,
        mut request: Request<Incoming>,
        peer: Peer,
    ) -> Response<Body> {
        self.metrics.requests.inc();
        let path = match accept::path(&mut request, &self.name) {
            Ok(path) => path,
            Err((status, message)) => {
                self.metrics.refused.inc();
                let mut refused = refusal(status, message);
                if request.version() < Version::HTTP_2 {
                    // Its client may see the end of it elsewhere.
                    let close = HeaderValue::from_static("close");
                    refused.headers_mut().insert(CONNECTION, close);
                }
                return refused;
            }
        };
        match self.forward(request, path, peer).await {
            Ok(response) => response,
            Err(error) if is_clients(&*error) => {
                self.metrics.refused.inc();
                refusal(
                    StatusCode::BAD_REQUEST,
                    "the body of the request cannot be read",
                )
            }
            Err(error) => {
                self.metrics.upstream_failures.inc();
                tracing::warn!(error = causes(&*error), "no upstream answered");
                refusal(
                    StatusCode::BAD_GATEWAY,
                    "the server behind this proxy cannot be reached",
                )
            }
        }
    }

    async fn forward(
        &self,
        request: Request<Incoming>,
        path: PathAndQuery,
        peer: Peer,
    ) -> Result<Response<Body>, BoxError> {
        let (mut parts, body) = request.into_parts();
        let decoded = route::decoded(path.path());
        let route = Route::of(&parts.method, &decoded);
        let mut came = Instant::now();
        let (upload, previous) = if self.affinity.is_some() && route == Route::Create {
            let (upload, text) = Upload::read_ahead(body, self.body_limit).await?;
            came = Instant::now();
            if let Some(text) = text {
                (upload, previous_response_id(&text).await)
            } else {
                self.note_longer();
                (upload, None)
            }
        } else {
            (Upload::new(body), None)
        };
        let upgrade = headers::upgrade(&parts.headers);
        let client_side = upgrade
            .as_ref()
            .and_then(|_| parts.extensions.remove::<OnUpgrade>());
        // HTTP/2 has it in the URI, and where HTTP/1.1 has it there, too, the header does not count.
        if let Some(authority) = parts.uri.authority() {
            parts.headers.insert(HOST, authority.as_str().parse()?);
        }
        let via = self.name.element(parts.version);
        headers::to_upstream(&mut parts.headers, via, peer, upgrade.as_ref());
        framing::announce(&mut parts.headers, &upload.size_hint());
        if route.is_rewritten() {
            headers::ask_for_identity(&mut parts.headers);
        }
        let response_id = previous.as_deref().or(route.response_id());
        let home = response_id.and_then(|id| self.affinity.as_ref()?.find(id));
        let is_anywhere = home.is_none();
        let first = home.or_else(|| self.balancer.pick(&[]));
        let mut upstream = first.ok_or("there is no upstream")?;
        let mut tried = Vec::new();
        loop {
            let mut outgoing = Request::new(upload.clone());
            *outgoing.method_mut() = parts.method.clone();
            *outgoing.uri_mut() = path.clone().into();
            *outgoing.headers_mut() = parts.headers.clone();
            let open = upstream.begin();
            let before = came.elapsed();
            match self.client.request(&upstream, outgoing, open).await {
                Ok(response) => {
                    return self.pass_on(response, route, &upstream, client_side, before);
                }
                // No connection: nothing of the body was taken, and another may be asked.
                Err(Failed::Connect(error)) => {
                    if self.balancer.all().len() > 1 {
                        self.balancer.failed(&upstream);
                        self.metrics.upstream_up(&upstream);
                    }
                    tried.push(upstream.index);
                    match self.balancer.pick(&tried) {
                        Some(another) if is_anywhere => upstream = another,
                        _ => return Err(error),
                    }
                }
                Err(Failed::Answer(error)) => return Err(error.into()),
            }
        }
    }

    /// Notes that a request was too long to be read, and says so once.
    fn note_longer(&self) {
        self.metrics.unread.inc();
        if !self.was_longer.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                body_limit = self.body_limit,
                "a request is longer than --body-limit: it may reach another upstream than the \
                 response that it goes on from; more of them are only counted"
            );
        }
    }

    /// Makes an answer of upstream's the one to the client.
    fn pass_on(
        &self,
        mut response: Response<Answer>,
        route: Route,
        upstream: &Arc<Upstream>,
        client_side: Option<OnUpgrade>,
        before: Duration,
    ) -> Result<Response<Body>, BoxError> {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(self.switch_protocols(response, client_side));
        }
        *response.version_mut() = Version::HTTP_11;
        framing::settle(response.headers_mut())?;
        headers::remove_hop_by_hop(response.headers_mut());
        location::rewrite(response.headers_mut(), &upstream.address.host());
        let status = response.status();
        let is_whole = status.is_success() && status != StatusCode::PARTIAL_CONTENT;
        if !route.is_rewritten() || !is_whole {
            return Ok(response.map(boxed));
        }
        let affinity = self.affinity.as_ref();
        let learner = affinity.map(|known| Learner::new(Arc::clone(known), Arc::clone(upstream)));
        if !headers::is_event_stream(response.headers()) {
            return Ok(response.map(|answer| boxed(answer.shown_to(learner))));
        }
        if headers::is_encoded(response.headers()) {
            self.metrics.encoded.inc();
            tracing::warn!("upstream compressed an event stream, which passes as it is");
            return Ok(response.map(boxed));
        }
        headers::remove_about_the_bytes(response.headers_mut());
        let metrics = Arc::clone(&self.metrics);
        Ok(response.map(|answer| {
            let rewriter = SseRewriter::new(self.policy);
            let rewritten = Rewritten::new(answer, rewriter, learner, metrics, before);
            BreaksOff::new(rewritten).boxed_unsync()
        }))
    }

    /// Joins both sides once they have left HTTP, until both have ended.
    fn switch_protocols(
        &self,
        mut response: Response<Answer>,
        client_side: Option<OnUpgrade>,
    ) -> Response<Body> {
        let Some(client_side) = client_side else {
            return refusal(
                StatusCode::BAD_GATEWAY,
                "upstream left HTTP without being asked to",
            );
        };
        let protocol = headers::upgrade(response.headers());
        let upstream_side = hyper::upgrade::on(&mut response);
        headers::remove_hop_by_hop(response.headers_mut());
        if let Some(protocol) = protocol {
            headers::switch_to(response.headers_mut(), protocol);
        }
        let (parts, mut answer) = response.into_parts();
        let connection = answer.take_connection();
        self.tunnels.spawn(async move {
            let leaves_http = async {
                if let Some(connection) = connection {
                    connection.run().await;
                }
            };
            let sides = tokio::join!(client_side, upstream_side, leaves_http);
            if let (Ok(client), Ok(upstream), ()) = sides {
                let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
                // That one side is gone ends the other; neither wants to know why.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
            }
            drop(answer);
        });
        Response::from_parts(parts, empty())
    }
}

fn boxed(answer: Answer) -> Body {
    BreaksOff::new(answer).map_err(Into::into).boxed_unsync()
}

fn empty() -> Body {
    http_body_util::Empty::new()
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// An answer of the proxy's own, in the form of the API's errors.
fn refusal(status: StatusCode, message: &str) -> Response<Body> {
    let text = serde_json::json!({
        "error": {"message": message, "type": "proxy_error", "param": null, "code": status.as_u16()}
    })
    .to_string();
    let length = HeaderValue::from(text.len());
    let body = Full::from(text).map_err(|never| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_LENGTH, length);
    response
}

/// Whether an error is that a client's body does not come as it should.
fn is_clients(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<Unread>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// An error with what caused it. None of them quote a request or an answer.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
