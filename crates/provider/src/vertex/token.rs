//! Access tokens from Google's key files: what to ask the token server, and what it answers.
//!
//! A service account signs a statement about itself (RFC 7523) and gets a token for an hour
//! (<https://developers.google.com/identity/protocols/oauth2/service-account#httprest>); the file that
//! `gcloud auth application-default login` writes holds a refresh token instead (RFC 6749, section 6). Both are plain
//! values here: the runtime brings the time, reads the file and sends the request.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use ring::{rand::SystemRandom, rsa, signature::RSA_PKCS1_SHA256};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use serde::Deserialize;
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use super::PROJECT_VARIABLE;
use crate::{
    ErrorKind, ErrorResponse, HttpRequest, ProviderError,
    auth::Key,
    redact::{Redaction, redact},
    reply::str_of,
    server::USER_AGENT,
};
use flemma_text::one_line;

/// The variable that names the key file, as in all of Google's libraries.
pub(super) const FILE_VARIABLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// What a token is asked for.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// The longest life that a token may be asked for, and the one that it has when the server names none.
const LIFETIME: Duration = Duration::from_secs(3600);

/// Where the file of a user, which names no server, is taken to.
const TOKEN_SERVER: &str = "https://oauth2.googleapis.com/token";

/// A key file. It cannot be printed: it holds secrets.
pub struct KeyFile {
    grant: Grant,
    /// The project that it belongs to, if it says so.
    project: Option<String>,
    /// Whose token it is, in words that follow "the key".
    origin: String,
    /// What may help where the server refuses a token.
    fix: &'static str,
}

/// What a token is asked for with.
enum Grant {
    Service { file: ServiceAccount, private: Box<rsa::KeyPair> },
    User(User),
}

/// The file of a service account, as the console writes it; other fields mean nothing here.
#[derive(Deserialize)]
struct ServiceAccount {
    client_email: String,
    private_key: String,
    private_key_id: Option<String>,
    token_uri: String,
    project_id: Option<String>,
}

/// The file of a user who signed in.
#[derive(Deserialize)]
struct User {
    client_id: String,
    client_secret: String,
    refresh_token: String,
    quota_project_id: Option<String>,
}

impl KeyFile {
    /// Reads the text of a key file.
    ///
    /// # Errors
    /// What is wrong with it, in words that follow the file's name; nothing of its content but the names of
    /// fields and its type.
    pub fn read(text: &str) -> Result<Self, String> {
        // serde's own messages may quote a value, which may be the private key.
        let json: Value = serde_json::from_str(text)
            .map_err(|error| format!("is not valid JSON (line {}, column {})", error.line(), error.column()))?;
        let field = |name: &str| json.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let need = |names: &[&str]| match names.iter().find(|name| field(name).is_none()) {
            Some(missing) => Err(format!("has no `{missing}`; download the key again")),
            None => Ok(()),
        };
        match field("type") {
            Some("service_account") => {
                need(&["client_email", "private_key", "token_uri"])?;
                let file: ServiceAccount = serde_json::from_value(json).map_err(|_| MISSHAPEN.to_owned())?;
                let url = Url::parse(&file.token_uri).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
                if url.is_none_or(|url| !url.has_host()) {
                    return Err("has a `token_uri` that is not a URL; download the key again".to_owned());
                }
                let private = private_key(&file.private_key)
                    .ok_or("has a `private_key` that is not an RSA key in PEM format; download the key again")?;
                Ok(Self {
                    project: file.project_id.clone(),
                    origin: format!("of the service account {}", one_line(&file.client_email, 100)),
                    fix: "; check the clock of this machine, and whether the key is still valid",
                    grant: Grant::Service { file, private },
                })
            }
            Some("authorized_user") => {
                need(&["client_id", "client_secret", "refresh_token"])?;
                let user: User = serde_json::from_value(json).map_err(|_| MISSHAPEN.to_owned())?;
                Ok(Self {
                    project: user.quota_project_id.clone(),
                    origin: format!("of the user in {FILE_VARIABLE}"),
                    fix: "; sign in again with `gcloud auth application-default login`",
                    grant: Grant::User(user),
                })
            }
            Some(other) => Err(format!(
                "has the type `{}`, which is not supported; use a service account's key, or \
                 `gcloud auth application-default login`",
                one_line(other, 40)
            )),
            None => Err("has no `type`, so it is not a Google key file".to_owned()),
        }
    }

    /// The project that the file belongs to, if it says so.
    pub fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// The request for a token. `now` must be about right: a server may refuse a request from the past or the future.
    ///
    /// # Errors
    /// When the statement cannot be signed, because the system provides no random numbers.
    pub fn request(&self, now: SystemTime) -> Result<HttpRequest, ProviderError> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        let url = match &self.grant {
            Grant::Service { file, private } => {
                form.append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
                form.append_pair("assertion", &file.statement(private, now)?);
                file.token_uri.clone()
            }
            Grant::User(user) => {
                form.append_pair("grant_type", "refresh_token");
                form.append_pair("client_id", &user.client_id);
                form.append_pair("client_secret", &user.client_secret);
                form.append_pair("refresh_token", &user.refresh_token);
                TOKEN_SERVER.to_owned()
            }
        };
        let headers = vec![
            ("content-type".into(), "application/x-www-form-urlencoded".to_owned()),
            ("accept".into(), "application/json".to_owned()),
            ("user-agent".into(), USER_AGENT.to_owned()),
        ];
        Ok(HttpRequest { url, headers, body: form.finish().into_bytes() })
    }

    /// The token in an answer whose status is a success, and how long it is valid from now on.
    ///
    /// # Errors
    /// When there is none.
    pub fn token(&self, body: &[u8]) -> Result<(Key, Duration), ProviderError> {
        #[derive(Deserialize)]
        struct TokenResponse {
            access_token: String,
            expires_in: Option<u64>,
        }
        let Ok(answer) = serde_json::from_slice::<TokenResponse>(body) else {
            let message = "the token server answered without a token; check `token_uri` in the key file";
            return Err(ProviderError::new(ErrorKind::Malformed, message));
        };
        let lifetime = answer.expires_in.map_or(LIFETIME, Duration::from_secs);
        Ok((Key::new(&answer.access_token, &self.origin)?, lifetime))
    }

    /// Turns an answer with any other status into an error. The body is OAuth's `{"error", "error_description"}`, or
    /// anything.
    pub fn decode_error(&self, response: &ErrorResponse) -> ProviderError {
        let json: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let (name, words) = (str_of(&json, "error"), str_of(&json, "error_description"));
        let kind = match response.status {
            408 | 504 => ErrorKind::Timeout,
            429 => ErrorKind::RateLimited,
            503 => ErrorKind::Overloaded,
            500.. => ErrorKind::Server,
            _ => ErrorKind::Authentication,
        };
        let fix = if kind == ErrorKind::Authentication { self.fix } else { "" };
        let words = [name, words].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ");
        let words = match &self.grant {
            Grant::User(user) => [&user.client_secret, &user.refresh_token]
                .into_iter()
                .fold(words, |words, secret| redact(&words, secret, Redaction::Parts)),
            Grant::Service { .. } => words,
        };
        let words = if words.is_empty() { String::new() } else { format!(": {}", one_line(&words, 300)) };
        let origin = &self.origin;
        let message =
            format!("the token server did not issue a token for the key {origin} ({}){words}{fix}", response.status);
        ProviderError { retry_after: response.retry_after, ..ProviderError::new(kind, message) }
    }

    /// Variables that the file also answers for where the environment does not have them, with their values.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.project().map(|project| (PROJECT_VARIABLE, project)).into_iter()
    }
}

const MISSHAPEN: &str = "has a field of the wrong type; download the key again";

impl ServiceAccount {
    /// The signed statement: a JSON Web Token (RFC 7519) with RS256 (RFC 7518, section 3.3).
    fn statement(&self, private: &rsa::KeyPair, now: SystemTime) -> Result<String, ProviderError> {
        let iat = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut header = json!({ "alg": "RS256", "typ": "JWT" });
        if let Some(id) = &self.private_key_id {
            header["kid"] = id.as_str().into();
        }
        let claims = json!({
            "iss": self.client_email,
            "scope": SCOPE,
            "aud": self.token_uri,
            "iat": iat,
            "exp": iat + LIFETIME.as_secs(),
        });
        let mut statement = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
        let mut signature = vec![0; private.public().modulus_len()];
        private.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), statement.as_bytes(), &mut signature).map_err(|_| {
            let message = "the request for a token cannot be signed: the system provides no random numbers";
            ProviderError::new(ErrorKind::Authentication, message)
        })?;
        statement.push('.');
        BASE64.encode_string(signature, &mut statement);
        Ok(statement)
    }
}

/// The key in PEM form, as PKCS #8 or PKCS #1.
fn private_key(pem: &str) -> Option<Box<rsa::KeyPair>> {
    let pair = match PrivateKeyDer::from_pem_slice(pem.as_bytes()).ok()? {
        PrivateKeyDer::Pkcs8(der) => rsa::KeyPair::from_pkcs8(der.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(der) => rsa::KeyPair::from_der(der.secret_pkcs1_der()),
        _ => return None,
    };
    pair.ok().map(Box::new)
}
