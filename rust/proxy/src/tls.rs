//! TLS, to clients and to upstreams: rustls with ring, so that nothing of the system is linked.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::named_verifier::NamedVerifier;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// What clients are served with, from the text of two PEM files.
///
/// # Errors
///
/// A message for the user.
pub fn for_clients(chain: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, String> {
    let chain = certificates(chain, "--tls-cert")?;
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| format!("no private key in the file of --tls-key: {error}"))?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| format!("--tls-cert and --tls-key cannot be used: {error}"))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// How upstreams are verified: by `named` (PEM) alone, or else by the system's authorities.
/// `named` has authorities, and certificates of upstreams themselves.
///
/// # Errors
///
/// A message for the user.
pub fn for_upstreams(named: Option<&[u8]>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    let named = match named {
        Some(named) => certificates(named, "--upstream-ca")?,
        None => Vec::new(),
    };
    for certificate in &named {
        roots
            .add(certificate.clone())
            .map_err(|error| format!("--upstream-ca cannot be used: {error}"))?;
    }
    if named.is_empty() {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(
                "this system has no certificate authorities; name some with \
                        --upstream-ca, or install them (ca-certificates)"
                    .to_owned(),
            );
        }
    }
    let verifier = NamedVerifier::new(roots, named, provider())?;
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map(|builder| {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
                .with_no_client_auth()
        })
        .map_err(|error| error.to_string())
}

/// Trusts nobody: for upstreams that are all spoken to without TLS.
pub(crate) fn for_nobody() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(provider());
    Ok(builder
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}

fn certificates(pem: &[u8], flag: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(format!("no certificate in the file of {flag}")),
        Err(error) => Err(format!("the file of {flag} cannot be read: {error}")),
    }
}
