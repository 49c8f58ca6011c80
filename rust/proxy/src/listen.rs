//! Sockets that listen.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::BoxError;

/// Starts to listen.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, BoxError> {
    let listening = TcpListener::bind(address).await;
    listening.map_err(|error| format!("cannot listen at {address}: {error}").into())
}

/// The next connection; waits while the system has none to give.
pub(crate) async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}
