//! Certificates of upstreams: signed by an authority that is trusted, or trusted themselves.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};

/// rustls's own verifier, and where that finds no chain, the certificates that the user named.
///
/// What `openssl req -x509` makes is an authority that signed itself (`CA:TRUE`). OpenSSL takes it
/// for a server's, if it is the very one that is trusted; webpki never does.
#[derive(Debug)]
pub(crate) struct NamedVerifier {
    chains: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl NamedVerifier {
    pub(crate) fn new(
        roots: RootCertStore,
        named: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let chains = chains.build().map_err(|error| error.to_string())?;
        Ok(Self { chains, named })
    }
}

impl ServerCertVerifier for NamedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verify = |intermediates| {
            self.chains.verify_server_cert(
                end_entity,
                intermediates,
                server_name,
                ocsp_response,
                now,
            )
        };
        let error = match verify(intermediates) {
            Ok(verified) => return Ok(verified),
            Err(error) => error,
        };
        if !self.named.contains(end_entity) {
            return Err(if is_authority(&error) {
                Error::General(
                    "the upstream's certificate is one of an authority (CA:TRUE), as `openssl req \
                     -x509` makes them; to trust it, name that very certificate by --upstream-ca"
                        .to_owned(),
                )
            } else {
                error
            });
        }
        // Without a chain only the certificate itself is judged, by its dates before all else.
        match verify(&[]) {
            Err(error) if is_authority(&error) || is_unsigned(&error) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

/// Whether the certificate of a server is that of an authority.
fn is_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(cause))) = error else {
        return false;
    };
    let cause = cause.downcast_ref::<webpki::Error>();
    matches!(cause, Some(webpki::Error::CaUsedAsEndEntity))
}

/// Whether nobody who is trusted signed a certificate.
fn is_unsigned(error: &Error) -> bool {
    // The signature is bad where the issuer has the name of somebody who is trusted.
    let unknown = CertificateError::UnknownIssuer;
    [unknown, CertificateError::BadSignature]
        .into_iter()
        .any(|cause| *error == Error::InvalidCertificate(cause))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd,
    };
    use rustls::crypto::ring;

    use super::*;

    /// 2024-07-03.
    const NOW: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(1_720_000_000));

    fn params(is_ca: bool, from: i32, to: i32) -> CertificateParams {
        let mut params = CertificateParams::new(vec!["there".to_owned()]).expect("names");
        if is_ca {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(to, 1, 1);
        params
    }

    /// A certificate that signed itself, as `openssl req -x509` makes it.
    fn own(is_ca: bool, from: i32, to: i32) -> CertificateDer<'static> {
        let key = KeyPair::generate().expect("a key");
        let made = params(is_ca, from, to).self_signed(&key);
        made.expect("a certificate").der().clone()
    }

    fn verify(
        named: &[&CertificateDer<'static>],
        shown: &[&CertificateDer<'static>],
        name: &str,
    ) -> Result<(), String> {
        let named: Vec<_> = named.iter().map(|&named| named.clone()).collect();
        let mut roots = RootCertStore::empty();
        for certificate in &named {
            roots.add(certificate.clone()).expect("an authority");
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = NamedVerifier::new(roots, named, provider).expect("a verifier");
        let shown: Vec<_> = shown.iter().map(|&shown| shown.clone()).collect();
        let name = ServerName::try_from(name).expect("a name");
        verifier
            .verify_server_cert(&shown[0], &shown[1..], &name, &[], NOW)
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    fn refused(verified: Result<(), String>, why: &str) {
        let error = verified.expect_err(why);
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn the_very_certificate_that_was_named_is_trusted() {
        for is_ca in [true, false] {
            let named = own(is_ca, 2024, 2025);
            verify(&[&named], &[&named], "there").expect("it is named");
            verify(&[&own(true, 2024, 2025), &named], &[&named], "there").expect("it is named");
        }
    }

    #[test]
    fn a_name_and_dates_have_to_fit_all_the_same() {
        for is_ca in [true, false] {
            let named = own(is_ca, 2024, 2025);
            refused(
                verify(&[&named], &[&named], "elsewhere"),
                "not valid for name",
            );
            let expired = own(is_ca, 2023, 2024);
            refused(verify(&[&expired], &[&expired], "there"), "expired");
            let early = own(is_ca, 2025, 2026);
            refused(verify(&[&early], &[&early], "there"), "not valid yet");
        }
    }

    #[test]
    fn another_certificate_is_not_trusted() {
        let (named, other) = (own(true, 2024, 2025), own(true, 2024, 2025));
        // The names in both are the same; the key is not.
        refused(verify(&[&named], &[&other], "there"), "--upstream-ca");
        refused(
            verify(&[&named], &[&other, &named], "there"),
            "--upstream-ca",
        );
        let other = own(false, 2024, 2025);
        refused(verify(&[&named], &[&other], "there"), "");
    }

    #[test]
    fn one_that_somebody_else_signed_is_trusted_by_itself() {
        let issuer = |from, to| {
            let key = KeyPair::generate().expect("a key");
            CertifiedIssuer::self_signed(params(true, from, to), key).expect("an authority")
        };
        let signed = |by: &CertifiedIssuer<'static, KeyPair>, from, to| {
            let key = KeyPair::generate().expect("a key");
            let made = params(false, from, to).signed_by(&key, by);
            made.expect("a certificate").der().clone()
        };
        let authority = issuer(2024, 2025);
        let named = signed(&authority, 2024, 2025);
        verify(&[&named], &[&named], "there").expect("it is named");
        // What comes with it is not looked at, not even an authority that is expired.
        let expired = issuer(2022, 2023);
        let named = signed(&expired, 2024, 2025);
        verify(&[&named], &[&named, expired.der()], "there").expect("it is named");
        // One that is named vouches for nobody else, and an authority still does.
        let other = signed(&authority, 2024, 2025);
        refused(verify(&[&named], &[&other], "there"), "BadSignature");
        verify(&[authority.der()], &[&other], "there").expect("its authority is named");
        let late = signed(&authority, 2022, 2023);
        refused(verify(&[&late], &[&late], "there"), "expired");
    }
}
