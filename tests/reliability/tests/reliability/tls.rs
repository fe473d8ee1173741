//! TLS with real servers, whose certificates are signed by an authority that only the test knows.
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    os::unix::fs::chown,
    sync::Arc,
};

use fugato_llm::{ChatModelExt as _, ChatRequest, ModelErrorKind};
use fugato_mysql::{MySqlLog, MySqlOptions};
use fugato_postgres::{PostgresLog, PostgresOptions};
use fugato_providers::openai::OpenAi;
use fugato_redis::{RedisLog, RedisOptions};
use fugato_state::{Message, ThreadId};
use fugato_store::{Commit, Expect, Record, Status, StoreError, StoreErrorKind, ThreadLog};
use fugato_testkit::{ModelAnswer, ModelServer};
use futures::future::try_join;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use servers::{MariaDb, Postgres, Redis, free_port};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

type TestResult = Result<(), Box<dyn std::error::Error>>;

/// An authority, and a server's certificate for this machine that it has signed.
struct Authority {
    folder: tempfile::TempDir,
    root: String,
    certificate: String,
    key: String,
}

impl Authority {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let mut params = CertificateParams::new([])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        let root = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate()?;
        let names = ["127.0.0.1".to_owned()];
        let certificate = CertificateParams::new(names)?.signed_by(&key, &issuer)?;
        Ok(Self {
            folder: tempfile::tempdir()?,
            root,
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// Writes the certificate and the key into files that only `owner` may read.
    fn files(&self, owner: Option<u32>) -> std::io::Result<[String; 2]> {
        use std::os::unix::fs::PermissionsExt as _;
        let write = |name: &str, text: &str| {
            let path = self.folder.path().join(name);
            fs::write(&path, text)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            chown(&path, owner, None)?;
            Ok::<_, std::io::Error>(path.display().to_string())
        };
        fs::set_permissions(self.folder.path(), fs::Permissions::from_mode(0o755))?;
        Ok([
            write("certificate.pem", &self.certificate)?,
            write("key.pem", &self.key)?,
        ])
    }

    fn acceptor(&self) -> Result<TlsAcceptor, Box<dyn std::error::Error>> {
        let chain = CertificateDer::pem_slice_iter(self.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())?;
        let provider = tokio_rustls::rustls::crypto::ring::default_provider();
        let config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain.collect::<Result<_, _>>()?, key)?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// A log keeps a record, and a log that trusts others gets no connection.
async fn keeps<L: ThreadLog>(
    trusting: Result<L, StoreError>,
    wary: Result<L, StoreError>,
    expected: StoreErrorKind,
) -> TestResult {
    let (log, thread) = (trusting?, ThreadId::new("letter")?);
    let record = Record(b"hello".to_vec());
    let commit = Commit {
        expect: Expect { head: 0, fence: 0 },
        nonce: 1,
        records: vec![record.clone()],
        status: Status::Runnable,
        base: None,
    };
    assert_eq!(log.append(&thread, &commit).await?.head, 1);
    assert_eq!(log.read(&thread, 1, 10).await?, [(1, record)]);
    let refused = wary.err().ok_or("nobody knows this authority")?;
    assert_eq!(refused.kind, expected, "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn postgres_speaks_tls_with_a_private_authority() -> TestResult {
    let authority = Authority::new()?;
    let [certificate, key] = authority.files(Postgres::user())?;
    let settings = [
        "ssl=on".to_owned(),
        format!("ssl_cert_file={certificate}"),
        format!("ssl_key_file={key}"),
    ];
    let settings = settings.each_ref().map(String::as_str);
    let Some(server) = Postgres::start_with(&settings) else {
        return Ok(());
    };
    let url = format!("{}?sslmode=require", server.url());
    let options = PostgresOptions::default().root_certificates(authority.root);
    keeps(
        PostgresLog::connect_with(&url, options).await,
        PostgresLog::connect(&url).await,
        StoreErrorKind::Invalid("the server cannot be trusted".to_owned()),
    )
    .await
}

#[tokio::test]
async fn mariadb_speaks_tls_with_a_private_authority() -> TestResult {
    let authority = Authority::new()?;
    let [certificate, key] = authority.files(None)?;
    let settings = [
        "require-secure-transport=ON".to_owned(),
        format!("ssl-cert={certificate}"),
        format!("ssl-key={key}"),
    ];
    let settings = settings.each_ref().map(String::as_str);
    let Some(server) = MariaDb::start_with(&settings) else {
        return Ok(());
    };
    let url = format!("{}?require_ssl=true", server.url());
    let options = MySqlOptions::default().root_certificates(authority.root);
    keeps(
        MySqlLog::connect_with(&url, options).await,
        MySqlLog::connect(&url).await,
        StoreErrorKind::Unavailable,
    )
    .await
}

#[tokio::test]
async fn redis_speaks_tls_with_a_private_authority() -> TestResult {
    let authority = Authority::new()?;
    let [certificate, key] = authority.files(None)?;
    let port = free_port();
    let settings = [
        format!("tls-port {port}"),
        format!("tls-cert-file {certificate}"),
        format!("tls-key-file {key}"),
        "tls-auth-clients no".to_owned(),
    ];
    let settings = settings.each_ref().map(String::as_str);
    let Some(server) = Redis::start_with(&settings) else {
        return Ok(());
    };
    let (front, back) = server.url().rsplit_once(':').ok_or("a port")?;
    let (_, database) = back.split_once('/').ok_or("a database")?;
    let url = format!("{front}:{port}/{database}").replacen("redis://", "rediss://", 1);
    let options = RedisOptions::default().root_certificates(authority.root);
    keeps(
        RedisLog::connect_with(&url, options).await,
        RedisLog::connect(&url).await,
        StoreErrorKind::Unavailable,
    )
    .await
}

/// Lets TLS in front of a server that speaks plainly.
async fn tunnel(acceptor: TlsAcceptor, to: SocketAddr) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let both = try_join(acceptor.accept(stream), TcpStream::connect(to)).await;
                if let Ok((mut client, mut server)) = both {
                    // The client reads to the end that HTTP names.
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                }
            });
        }
    });
    Ok(address)
}

#[tokio::test]
async fn a_model_is_asked_over_https_with_a_private_authority() -> TestResult {
    let authority = Authority::new()?;
    let server = ModelServer::in_turn([ModelAnswer::text("Good morning", "stop")]);
    let url = server.url();
    let plain = url.trim_start_matches("http://").trim_end_matches("/v1");
    let address = tunnel(authority.acceptor()?, plain.parse()?).await?;
    let wary = OpenAi::new(&format!("https://{address}/v1"), "small");
    let root = reqwest::Certificate::from_pem(authority.root.as_bytes())?;
    let client = reqwest::Client::builder().tls_certs_only([root]).build()?;
    let trusting = wary.clone().http(client);
    let request = ChatRequest::new([Message::user("Hello")]);
    let refused = wary.complete(request.clone()).await;
    assert_eq!(
        refused.map_err(|error| error.kind).err(),
        Some(ModelErrorKind::Unreachable)
    );
    let answer = trusting.complete(request).await?;
    assert_eq!(answer.message.content, "Good morning");
    Ok(())
}
