//! TLS by rustls.
use std::{
    error::Error,
    sync::{Arc, OnceLock},
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Creates TLS connections to servers whose certificate is signed by one of `roots`, or by an
/// authority that the system trusts. The system is asked once.
pub(crate) fn client(
    roots: Option<&[u8]>,
) -> Result<MakeRustlsConnect, Box<dyn Error + Send + Sync>> {
    static SYSTEM: OnceLock<ClientConfig> = OnceLock::new();
    let builder = || {
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
    };
    let config = match (roots, SYSTEM.get()) {
        (None, Some(config)) => config.clone(),
        (None, None) => {
            let config = builder()?.with_platform_verifier()?.with_no_client_auth();
            SYSTEM.get_or_init(|| config).clone()
        }
        (Some(pem), _) => builder()?
            .with_root_certificates(store(pem)?)
            .with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

fn store(pem: &[u8]) -> Result<RootCertStore, Box<dyn Error + Send + Sync>> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        store.add(certificate?)?;
    }
    if store.is_empty() {
        return Err("there is no certificate in the text".into());
    }
    Ok(store)
}
