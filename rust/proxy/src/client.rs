//! Requests to upstreams.

use std::sync::Arc;

use http::header::HOST;
use http::uri::PathAndQuery;
use http::{Request, Response};
use hyper::client::conn::http1;
use rustls::ClientConfig;
use tower_service::Service;

use crate::BoxError;
use crate::body::Answer;
use crate::connect::{Connector, connector};
use crate::driven::Connection;
use crate::idle::Idle;
use crate::upload::Upload;
use crate::upstream::{Address, Open, Upstream};

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failed {
    /// There is no connection; nothing was taken from the request.
    Connect(BoxError),
    /// The connection failed, or the body of the request.
    Answer(hyper::Error),
}

/// Sends requests.
pub(crate) struct Client {
    connector: Connector,
    idle: Arc<Idle>,
}

impl Client {
    pub(crate) fn new(tls: ClientConfig) -> Self {
        Self {
            connector: connector(tls),
            idle: Arc::default(),
        }
    }

    /// Where connections wait for their next request.
    pub(crate) fn idle(&self) -> Arc<Idle> {
        Arc::clone(&self.idle)
    }

    /// Sends a request whose URI is a path; `open` is held as long as upstream is at it.
    pub(crate) async fn request(
        &self,
        upstream: &Arc<Upstream>,
        mut request: Request<Upload>,
        open: Open,
    ) -> Result<Response<Answer>, Failed> {
        let host = upstream.address.host();
        request.headers_mut().insert(HOST, host);
        let upload = request.body().clone();
        loop {
            let kept = self.idle.take(upstream.index);
            let is_kept = kept.is_some();
            let mut connection = match kept {
                Some(connection) => connection,
                None => self.connect(&upstream.address).await?,
            };
            match connection.request(request).await {
                Ok(response) => {
                    let connection = if upload.has_ended() {
                        Some(connection)
                    } else {
                        // The client may want to have sent all before it reads anything.
                        tokio::spawn(connection.run());
                        None
                    };
                    return Ok(response.map(|incoming| {
                        Answer::new(incoming, connection, self.idle(), upstream.index, open)
                    }));
                }
                // Upstream had closed it: nothing of the request was sent.
                Err(mut error) => match error.take_message() {
                    Some(unsent) if is_kept => request = unsent,
                    _ => return Err(Failed::Answer(error.into_error())),
                },
            }
        }
    }

    async fn connect(&self, address: &Address) -> Result<Connection, Failed> {
        let uri = address.at(PathAndQuery::from_static("/"));
        let uri = uri.map_err(|error| Failed::Connect(error.into()))?;
        let mut connector = self.connector.clone();
        let stream = connector.call(uri).await.map_err(Failed::Connect)?;
        let made = http1::handshake(stream).await;
        let (sender, driver) = made.map_err(Failed::Answer)?;
        Ok(Connection::new(sender, driver.with_upgrades()))
    }
}
