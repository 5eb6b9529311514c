//! Keys that are not in the environment, with substitutes for the commands, the keyring and the token server.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use flemma_model::{Event, Message, Part, Role};
use flemma_provider::{
    ErrorKind, KeyFile, ProviderError, ProviderName, Request, VendorOptions,
    auth::{Environment, Key},
    credential::{Credential, KeySource},
};
use flemma_runtime::{ConversationId, Credentials, Recipient, RequestUpdate, Worker, http::Timeouts};
use flemma_tools::builtin::Readable;
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    anthropic::Stream,
    conversation::provider_of,
    http::{Reply, Server},
};

/// Made for these tests; nothing trusts it.
const PRIVATE_KEY: &str = include_str!("../support/rsa_for_tests.pem");

/// Where the token of Vertex AI may be.
fn gcloud() -> Credential {
    VendorOptions::new(ProviderName::from_name("vertex").unwrap(), json!({})).credential().unwrap()
}

const VARIABLE: &str = "ACME_API_KEY";

/// A folder of commands, and an environment that finds them there before all others.
struct Commands {
    dir: TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Commands {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = format!("{}:/usr/bin:/bin", dir.path().display());
        Self { dir, variables: vec![("PATH", path)] }
    }

    /// A command that appends a line to `NAME.calls` and runs `script`.
    fn command(self, name: &str, script: &str) -> Self {
        let path = self.dir.path().join(name);
        let text = format!("#!/bin/sh\necho \"$*\" >> '{}'\n{script}\n", self.calls_of(name).display());
        // Another process writes it: a file that this one has open for writing, even for a moment in a child that
        // another test starts, cannot be executed (ETXTBSY).
        let written = Command::new("sh")
            .args(["-c", "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh", &text])
            .arg(path)
            .status();
        assert!(written.unwrap().success());
        self
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn set(mut self, variable: &'static str, value: &str) -> Self {
        self.variables.push((variable, value.to_owned()));
        self
    }

    fn calls_of(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(format!("{name}.calls"))
    }

    /// The arguments of each call.
    fn calls(&self, name: &str) -> Vec<String> {
        let calls = fs::read_to_string(self.calls_of(name)).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    fn environment(&self) -> Environment {
        let variables = self.variables.clone();
        Environment::new(move |name| Some(variables.iter().find(|(known, _)| *known == name)?.1.clone()))
    }
}

fn api_key(command: &[&str]) -> Credential {
    let line: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    let command = (!line.is_empty()).then_some(KeySource::Command(line));
    Credential { variable: VARIABLE, sources: [KeySource::Keyring("acme")].into_iter().chain(command).collect() }
}

fn credentials() -> Credentials {
    Credentials::new(Arc::default())
}

async fn find(
    credentials: &Credentials,
    environment: Environment,
    credential: &Credential,
) -> Result<Option<Key>, ProviderError> {
    let environment = credentials.complete(environment, Some(credential), Timeouts::default()).await?;
    environment.find(credential.variable)
}

async fn failure(environment: Environment, credential: &Credential) -> String {
    let error = find(&credentials(), environment, credential).await.expect_err("there is no key");
    assert_eq!(error.kind, ErrorKind::Authentication, "{error}");
    assert!(!error.message.contains('\n'), "{error}");
    error.message
}

fn exposed(key: Option<Key>) -> (String, String) {
    let key = key.expect("there is a key");
    assert_eq!(format!("{key:?}"), "…");
    (key.expose().to_owned(), key.origin().to_owned())
}

#[tokio::test]
async fn the_environment_comes_first_and_nothing_is_started() {
    let commands = Commands::new().command("secret-tool", "echo from-keyring").set(VARIABLE, "sk-environment");
    let key = find(&credentials(), commands.environment(), &api_key(&["secret-tool"])).await.unwrap();
    assert_eq!(exposed(key), ("sk-environment".to_owned(), format!("in {VARIABLE}")));
    assert!(commands.calls("secret-tool").is_empty());
}

#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn the_keyring_comes_before_the_command_and_is_asked_once() {
    let commands = Commands::new().command("secret-tool", "echo sk-keyring").command("show-key", "echo sk-command");
    let (credentials, credential) = (credentials(), api_key(&["show-key"]));
    for _ in 0..3 {
        let key = find(&credentials, commands.environment(), &credential).await.unwrap();
        let origin = "in the keyring (service flemma, account acme)".to_owned();
        assert_eq!(exposed(key), ("sk-keyring".to_owned(), origin));
    }
    assert_eq!(commands.calls("secret-tool"), ["lookup service flemma account acme"]);
    assert!(commands.calls("show-key").is_empty());
    credentials.forget_refused(Some(&credential), &ProviderError::new(ErrorKind::Authentication, ""));
    find(&credentials, commands.environment(), &credential).await.unwrap();
    assert_eq!(commands.calls("secret-tool").len(), 2, "what was forgotten is asked for again");
    assert!(!format!("{credentials:?}").contains("sk-keyring"));
}

#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn without_an_entry_in_the_keyring_the_command_is_asked() {
    for script in ["exit 1", "echo no D-Bus >&2; exit 1", "exit 0", "kill -9 $$"] {
        let commands = Commands::new()
            .command("secret-tool", script)
            .command("show-key", "echo warning >&2; echo; echo ' sk-command '; echo user: me");
        let key = find(&credentials(), commands.environment(), &api_key(&["show-key", "a b", "$HOME"])).await.unwrap();
        assert_eq!(exposed(key), ("sk-command".to_owned(), "from the command `show-key`".to_owned()));
        assert_eq!(commands.calls("show-key"), ["a b $HOME"], "no shell has touched the arguments");
    }
}

#[tokio::test]
async fn with_nothing_anywhere_the_environment_stays_as_it_is() {
    let commands = Commands::new().command("secret-tool", "exit 1").command("security", "exit 44");
    assert_eq!(find(&credentials(), commands.environment(), &api_key(&[])).await, Ok(None));
}

#[tokio::test]
async fn a_command_that_fails_says_why_and_shows_no_key() {
    let commands = || Commands::new().command("secret-tool", "exit 1").command("security", "exit 44");
    for (script, words) in [
        ("echo 'vault is locked' >&2; exit 3", "failed with exit code 3: vault is locked"),
        ("echo sk-half; echo 'sk-half was refused' >&2; exit 1", "failed with exit code 1: … was refused"),
        ("kill -15 $$", "was killed by signal 15"),
        ("exit 0", "printed nothing"),
        ("echo two words", "it contains a space"),
    ] {
        let commands = commands().command("show-key", script);
        let message = failure(commands.environment(), &api_key(&["show-key", "--token=hush"])).await;
        assert!(message.contains("`show-key`") && message.contains(words), "{words}: {message}");
        for secret in ["sk-half", "hush", "two words"] {
            assert!(!message.contains(secret), "{message}");
        }
    }
    let message = failure(commands().environment(), &api_key(&["no-such-command"])).await;
    assert!(message.contains("`no-such-command` in `api_key_command` cannot be started"), "{message}");
}

#[tokio::test]
async fn what_a_command_leaves_running_is_not_waited_for() {
    let commands = Commands::new().command("secret-tool", "exit 1").command("show-key", "sleep 600 & echo sk-command");
    let key = find(&credentials(), commands.environment(), &api_key(&["show-key"])).await.unwrap();
    assert_eq!(exposed(key).0, "sk-command");
}

#[tokio::test]
async fn gcloud_gives_the_token_of_the_signed_in_account() {
    let commands = Commands::new().command("gcloud", "echo warning >&2; echo ya29.gcloud");
    let (credentials, credential) = (credentials(), gcloud());
    for _ in 0..2 {
        let key = find(&credentials, commands.environment(), &credential).await.unwrap();
        assert_eq!(exposed(key), ("ya29.gcloud".to_owned(), "from `gcloud`".to_owned()));
    }
    assert_eq!(commands.calls("gcloud"), ["auth print-access-token"]);
}

#[tokio::test]
async fn a_missing_sign_in_is_reported_only_if_gcloud_is_there() {
    let commands = Commands::new().command("gcloud", "echo 'ERROR: no active account' >&2; exit 1");
    let message = failure(commands.environment(), &gcloud()).await;
    assert!(message.contains("no active account") && message.contains("`gcloud auth login`"), "{message}");
    let empty = tempfile::tempdir().unwrap();
    let path = empty.path().display().to_string();
    let environment = Environment::new(move |name| (name == "PATH").then(|| path.clone()));
    assert_eq!(find(&credentials(), environment, &gcloud()).await, Ok(None));
}

fn service_account(token_uri: &str) -> Value {
    json!({
        "type": "service_account", "project_id": "from-file", "private_key_id": "kid-1",
        "private_key": PRIVATE_KEY, "client_email": "robot@from-file.iam.gserviceaccount.com", "token_uri": token_uri,
    })
}

fn token(value: &str, lifetime: u64) -> Reply {
    Reply::json(200, &json!({"access_token": value, "expires_in": lifetime, "token_type": "Bearer"}))
}

/// Commands with a key file in the environment.
fn with_key_file(text: &str) -> Commands {
    let commands = Commands::new().command("gcloud", "echo ya29.gcloud");
    let file = commands.file("key.json", text);
    commands.set("GOOGLE_APPLICATION_CREDENTIALS", &file)
}

#[tokio::test]
async fn a_service_account_signs_for_its_token() {
    let server = Server::start([token("ya29.service", 3600)]);
    let token_uri = format!("{}/token", server.base_url());
    let commands = with_key_file(&service_account(&token_uri).to_string());
    let credentials = credentials();
    for _ in 0..2 {
        let environment =
            credentials.complete(commands.environment(), Some(&gcloud()), Timeouts::default()).await.unwrap();
        assert_eq!(environment.value("GOOGLE_CLOUD_PROJECT").as_deref(), Some("from-file"));
        let key = environment.find("VERTEX_AI_ACCESS_TOKEN").unwrap();
        let origin = "of the service account robot@from-file.iam.gserviceaccount.com";
        assert_eq!(exposed(key), ("ya29.service".to_owned(), origin.to_owned()));
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "the token is kept as long as it lives");
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("POST", "/token"));
    assert_eq!(requests[0].header("content-type"), Some("application/x-www-form-urlencoded"));
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&requests[0].body).into_owned().collect();
    assert_eq!(form[0], ("grant_type".to_owned(), "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()));
    assert_eq!(form[1].0, "assertion");

    let (statement, signature) = form[1].1.rsplit_once('.').unwrap();
    let private = PrivatePkcs8KeyDer::from_pem_slice(PRIVATE_KEY.as_bytes()).unwrap();
    let private = RsaKeyPair::from_pkcs8(private.secret_pkcs8_der()).unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, private.public_key());
    public.verify(statement.as_bytes(), &BASE64.decode(signature).unwrap()).expect("the signature holds");
    let (header, claims) = statement.split_once('.').unwrap();
    let read = |part: &str| serde_json::from_slice::<Value>(&BASE64.decode(part).unwrap()).unwrap();
    assert_eq!(read(header), json!({"alg": "RS256", "typ": "JWT", "kid": "kid-1"}));
    let claims = read(claims);
    assert_eq!(claims["iss"], "robot@from-file.iam.gserviceaccount.com");
    assert_eq!(claims["aud"], token_uri);
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/cloud-platform");
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 3600);
    assert!(commands.calls("gcloud").is_empty());
}

#[tokio::test]
async fn a_token_that_ends_soon_is_not_kept() {
    let server = Server::start([token("ya29.one", 120), token("ya29.two", 120)]);
    let commands = with_key_file(&service_account(&server.base_url()).to_string());
    let credentials = credentials();
    for expected in ["ya29.one", "ya29.two"] {
        let key = find(&credentials, commands.environment(), &gcloud()).await.unwrap();
        assert_eq!(exposed(key).0, expected);
    }
}

#[tokio::test]
async fn a_refusing_token_server_is_quoted_with_the_fix() {
    for (reply, kind, words) in [
        (
            Reply::json(400, &json!({"error": "invalid_grant", "error_description": "Invalid JWT: iat"})),
            ErrorKind::Authentication,
            "(400): invalid_grant: Invalid JWT: iat; check the clock",
        ),
        (Reply::status(503), ErrorKind::Overloaded, "(503)"),
        (Reply::json(200, &json!({"id_token": "x"})), ErrorKind::Malformed, "without a token"),
        (Reply::status(200).header("content-type", "text/html").chunk("<html>"), ErrorKind::Malformed, "web page"),
    ] {
        let server = Server::start([reply]);
        let commands = with_key_file(&service_account(&server.base_url()).to_string());
        let error = find(&credentials(), commands.environment(), &gcloud()).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(words), "{words}: {error}");
        assert!(!error.message.contains("eyJ"), "the statement is in {error}");
    }
}

#[tokio::test]
async fn a_key_file_that_cannot_be_used_is_named_and_not_shown() {
    let mut broken_key = service_account("https://oauth2.example/token");
    broken_key["private_key"] = json!("-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n");
    let mut nameless = service_account("https://oauth2.example/token");
    nameless["client_email"] = json!("");
    for (text, words) in [
        ("{\"private_key\": \"hush", "is not valid JSON"),
        ("[1]", "no `type`"),
        ("{\"type\": \"external_account\"}", "the type `external_account`"),
        ("{\"type\": \"authorized_user\", \"client_id\": \"x\"}", "no `client_secret`"),
        (&nameless.to_string(), "no `client_email`"),
        (&service_account("oauth2.example").to_string(), "`token_uri` that is not a URL"),
        (&broken_key.to_string(), "`private_key` that is not an RSA key"),
    ] {
        let commands = with_key_file(text);
        let message = failure(commands.environment(), &gcloud()).await;
        assert!(message.contains("GOOGLE_APPLICATION_CREDENTIALS") && message.contains("key.json"), "{message}");
        assert!(message.contains(words), "{words}: {message}");
        assert!(!message.contains("hush"), "{message}");
    }
    let missing = Commands::new().set("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json");
    let message = failure(missing.environment(), &gcloud()).await;
    assert!(message.contains("/nowhere/key.json") && message.contains("cannot be read"), "{message}");
}

#[test]
fn a_user_who_signed_in_is_asked_for_with_their_refresh_token() {
    let file = json!({"type": "authorized_user", "client_id": "id", "client_secret": "s e", "refresh_token": "r",
        "quota_project_id": "q"});
    let file = KeyFile::read(&file.to_string()).unwrap();
    let request = file.request(std::time::SystemTime::now()).unwrap();
    assert_eq!(request.url, "https://oauth2.googleapis.com/token");
    let body = String::from_utf8(request.body).unwrap();
    assert_eq!(body, "grant_type=refresh_token&client_id=id&client_secret=s+e&refresh_token=r");
    assert_eq!(file.project(), Some("q"));
}

/// What a worker reports of one request, up to its end.
fn ask(worker: &Worker, recipient: Recipient) -> Vec<RequestUpdate> {
    let request = Request {
        model: "model-test".to_owned(),
        messages: vec![Arc::new(Message { role: Role::User, parts: vec![Part::Text("Hello".to_owned())] })],
        ..Request::default()
    };
    let (sender, told) = mpsc::channel();
    let sender = Mutex::new(sender);
    let on_update = Arc::new(move |update| _ = sender.lock().unwrap().send(update));
    worker.send(ConversationId(1), recipient, request, Readable::default(), Timeouts::default(), on_update).unwrap();
    let mut updates = Vec::new();
    loop {
        updates.push(told.recv_timeout(Duration::from_secs(30)).expect("the request ends"));
        if matches!(updates.last(), Some(RequestUpdate::Failed(_) | RequestUpdate::Event(Event::Finished(_)))) {
            return updates;
        }
    }
}

#[test]
fn a_refused_key_is_fetched_again() {
    let reply = Stream::new().text(&["hi"]).end("end_turn").bytes();
    let refusal = json!({"type": "error", "error": {"type": "authentication_error", "message": "expired"}});
    let server = Server::start([
        Reply::stream().chunk(reply.clone()),
        Reply::stream().chunk(reply.clone()),
        Reply::json(401, &refusal),
        Reply::stream().chunk(reply),
    ]);
    let commands = Commands::new()
        .command("secret-tool", "exit 1")
        .command("show-key", "echo sk-$(wc -l < \"$(dirname \"$0\")/show-key.calls\" | tr -d ' ')");
    let worker = Worker::default();
    for nth in 0..4 {
        let base_url = server.base_url();
        let updates = ask(
            &worker,
            Recipient {
                environment: commands.environment(),
                credential: Some(Credential {
                    variable: "ANTHROPIC_API_KEY",
                    sources: vec![KeySource::Command(vec!["show-key".to_owned()])],
                }),
                build: Box::new(move |environment| {
                    let options = json!({"base_url": base_url});
                    Ok(provider_of("anthropic", options, environment))
                }),
                max_reply_bytes: 1 << 20,
            },
        );
        if let (2, Some(RequestUpdate::Failed(error))) = (nth, updates.last()) {
            assert!(error.message.contains("the key from the command `show-key`"), "{error}");
        } else {
            assert!(matches!(updates.last(), Some(RequestUpdate::Event(_))), "{updates:?}");
        }
    }
    let keys: Vec<_> = server.requests().iter().map(|request| request.header("x-api-key").map(str::to_owned)).collect();
    assert_eq!(keys, ["sk-1", "sk-1", "sk-1", "sk-2"].map(|key| Some(key.to_owned())));
}

#[test]
fn vertex_uses_the_token_and_project_of_the_key_file() {
    let tokens = Server::start([token("ya29.service", 3600)]);
    let reply = json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]});
    let server = Server::start([Reply::stream().chunk(format!("data: {reply}\r\n\r\n"))]);
    let commands = with_key_file(&service_account(&tokens.base_url()).to_string());
    let worker = Worker::default();
    let base_url = server.base_url();
    let updates = ask(
        &worker,
        Recipient {
            environment: commands.environment(),
            credential: Some(gcloud()),
            build: Box::new(move |environment| Ok(provider_of("vertex", json!({"base_url": base_url}), environment))),
            max_reply_bytes: 1 << 20,
        },
    );
    assert!(matches!(updates.last(), Some(RequestUpdate::Event(_))), "{updates:?}");
    let request = &server.requests()[0];
    assert_eq!(request.header("authorization"), Some("Bearer ya29.service"));
    assert_eq!(
        request.path,
        "/v1/projects/from-file/locations/global/publishers/google/models/model-test:streamGenerateContent?alt=sse"
    );
    assert!(Path::new(&commands.calls_of("gcloud")).metadata().is_err(), "gcloud is not asked");
}
