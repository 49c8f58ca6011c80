//! The admin address: `/health`, `/ready` and `/metrics`.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::balance::Balancer;
use crate::listen::accept;
use crate::metrics::{self, Metrics};

/// What the admin address tells of.
pub(crate) struct Admin {
    pub(crate) balancer: Arc<Balancer>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) draining: Arc<AtomicBool>,
}

impl Admin {
    /// Answers at `listener` until it is dropped.
    pub(crate) async fn serve(self, listener: TcpListener) {
        let admin = Arc::new(self);
        loop {
            let (stream, _) = accept(&listener).await;
            let admin = Arc::clone(&admin);
            let service = service_fn(move |request| {
                let answer = admin.answer(&request);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service);
            // A connection that fails is the client's loss.
            tokio::spawn(async move { drop(connection.await) });
        }
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n");
        }
        match request.uri().path() {
            "/health" => text(StatusCode::OK, "ok\n"),
            "/ready" if self.draining.load(Ordering::Relaxed) => {
                text(StatusCode::SERVICE_UNAVAILABLE, "draining\n")
            }
            "/ready" if !self.balancer.all().iter().any(|upstream| upstream.is_up()) => {
                text(StatusCode::SERVICE_UNAVAILABLE, "no upstream is up\n")
            }
            "/ready" => text(StatusCode::OK, "ready\n"),
            "/metrics" => {
                let mut response = text(StatusCode::OK, self.metrics.text());
                response.headers_mut().insert(
                    CONTENT_TYPE,
                    HeaderValue::from_static(metrics::CONTENT_TYPE),
                );
                response
            }
            _ => text(
                StatusCode::NOT_FOUND,
                "/health, /ready and /metrics are here\n",
            ),
        }
    }
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}
