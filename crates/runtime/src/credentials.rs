//! Keys that take a process or a socket to get at.
//!
//! Before a provider is built, [`Credentials::complete`] looks whether the environment has its key. If not, it asks the
//! places that the [`Credential`] names, one after the other, and lays the first key that it finds into the
//! environment. What was found is kept for a while, so that not every request starts a process: a token as long as the
//! server says, less a margin, anything else for some minutes, and nothing any longer once a provider refused it.
//!
//! Keys are in no log, in no message and in no file: commands are asked through pipes, and of what a command says when
//! it fails, what it printed is taken out.

use std::{
    io,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};

use super::{
    disk::lock,
    http::{Http, Timeouts},
};
use flemma_process::{CommandEnd, output};
use flemma_provider::{
    ErrorKind, KeyFile, ProviderError,
    auth::{Environment, Key},
    credential::{Credential, KEYRING_SERVICE, KeySource, Program},
};
use flemma_text::one_line;

/// How long a command may take. It may ask for a password in a window of its own.
const COMMAND_TIME: Duration = Duration::from_secs(60);

/// How long a key is kept whose end is not known.
const KEEP: Duration = Duration::from_secs(600);

/// How long before its end a token is no longer used: a reply may take a while to begin.
const MARGIN: Duration = Duration::from_secs(240);

/// How long the token server has for its answer.
const TOKEN_TIME: Duration = Duration::from_secs(30);

/// The fewest bytes that a command prints for it to be hidden in what it says: fewer are found in every other word.
const SHORTEST_PRINTED: usize = 4;

/// The most characters that are shown of what a command says.
const MAX_WORDS: usize = 300;

/// Fetches keys, and keeps them for a while.
#[derive(Debug)]
pub struct Credentials {
    http: Arc<Http>,
    /// What was found, each with its place, and with the file that it comes from if that place names one.
    kept: Mutex<Vec<(KeySource, Option<String>, FetchedKey)>>,
}

/// A key that was found.
#[derive(Clone, Debug)]
struct FetchedKey {
    key: Key,
    /// Further variables that came with it.
    variables: Vec<(&'static str, Key)>,
    /// When to ask again.
    until: Option<Instant>,
}

impl Credentials {
    /// Fetches over `http`.
    pub fn new(http: Arc<Http>) -> Self {
        Self { http, kept: Mutex::default() }
    }

    /// The environment with the key that `credential` asks for in it, if there is one anywhere. Must run on a tokio runtime with
    /// I/O and time.
    ///
    /// # Errors
    /// When a place that the user has set up gives no key: one line that names the place and what it said. That there
    /// is no key at all is for the provider to report.
    pub async fn complete(
        &self,
        environment: Environment,
        credential: Option<&Credential>,
        timeouts: Timeouts,
    ) -> Result<Environment, ProviderError> {
        let Some(credential) = credential.filter(|credential| !environment.has(credential.variable)) else {
            return Ok(environment);
        };
        for source in &credential.sources {
            let file = match source {
                KeySource::KeyFile(variable) => environment.value(variable),
                KeySource::Keyring(_) | KeySource::Command(_) | KeySource::Program(_) => None,
            };
            let found = match self.kept(source, file.as_deref()) {
                Some(found) => Some(found),
                None => self.fetch(source, file.as_deref(), &environment, timeouts).await?,
            };
            if let Some(found) = found {
                let mut kept = lock(&self.kept);
                kept.retain(|(other, of, _)| other != source || *of != file);
                kept.push((source.clone(), file, found.clone()));
                let environment = environment.with(credential.variable, found.key);
                let variables = found.variables.into_iter();
                return Ok(variables.fold(environment, |environment, (name, value)| environment.with(name, value)));
            }
        }
        Ok(environment)
    }

    /// Forgets what was found for `credential`, if the provider did not accept it.
    pub fn forget_refused(&self, credential: Option<&Credential>, error: &ProviderError) {
        if let Some(credential) = credential.filter(|_| error.kind == ErrorKind::Authentication) {
            lock(&self.kept).retain(|(source, ..)| !credential.sources.contains(source));
        }
    }

    fn kept(&self, source: &KeySource, file: Option<&str>) -> Option<FetchedKey> {
        let mut kept = lock(&self.kept);
        kept.retain(|(.., found)| found.until.is_some_and(|until| until > Instant::now()));
        let mut kept = kept.iter().filter(|(other, of, _)| other == source && of.as_deref() == file);
        kept.next().map(|(.., found)| found.clone())
    }

    async fn fetch(
        &self,
        source: &KeySource,
        file: Option<&str>,
        environment: &Environment,
        timeouts: Timeouts,
    ) -> Result<Option<FetchedKey>, ProviderError> {
        match source {
            KeySource::Keyring(account) => from_keyring(account, environment).await,
            KeySource::Command(line) => from_command(line, environment).await.map(Some),
            KeySource::Program(program) => from_program(program, environment).await,
            KeySource::KeyFile(variable) => match file {
                Some(file) => self.ask_token_server(variable, file, timeouts).await.map(Some),
                None => Ok(None),
            },
        }
    }

    async fn ask_token_server(
        &self,
        variable: &str,
        path: &str,
        timeouts: Timeouts,
    ) -> Result<FetchedKey, ProviderError> {
        let fail = |words: String| {
            let message = format!("the key file {} in {variable} {words}", Path::new(path).display());
            ProviderError::new(ErrorKind::Authentication, message)
        };
        let text = tokio::fs::read_to_string(path).await.map_err(|error| fail(format!("cannot be read: {error}")))?;
        let file = KeyFile::read(&text).map_err(fail)?;
        let timeouts = Timeouts { first_byte: TOKEN_TIME, idle: TOKEN_TIME, ..timeouts };
        let asked = Instant::now();
        let (key, lifetime) = match self.http.fetch(&file.request(SystemTime::now())?, timeouts).await? {
            Ok(body) => file.token(&body)?,
            Err(refusal) => return Err(file.decode_error(&refusal)),
        };
        let until = asked.checked_add(lifetime.saturating_sub(MARGIN));
        let variables = file.variables();
        let variables = variables.filter_map(|(variable, value)| Some((variable, Key::new(value, "").ok()?)));
        Ok(FetchedKey { key, variables: variables.collect(), until })
    }
}

/// The key in the system's keyring; `None` where there is no keyring, or no entry for Flemma.
async fn from_keyring(account: &str, environment: &Environment) -> Result<Option<FetchedKey>, ProviderError> {
    let line = if cfg!(target_os = "macos") {
        vec!["security", "find-generic-password", "-s", KEYRING_SERVICE, "-a", account, "-w"]
    } else {
        vec!["secret-tool", "lookup", "service", KEYRING_SERVICE, "account", account]
    };
    match run(&line, environment).await {
        Ok(Some(answer)) if answer.end == CommandEnd::Exited(0) && !first_line(&answer.stdout).is_empty() => {
            let origin = format!("in the keyring (service {KEYRING_SERVICE}, account {account})");
            Ok(Some(found(&answer.stdout, &origin, KEEP)?))
        }
        _ => Ok(None),
    }
}

/// What the user's own command prints.
async fn from_command(line: &[String], environment: &Environment) -> Result<FetchedKey, ProviderError> {
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let name = line.first().copied().unwrap_or_default();
    let what = format!("the command `{}` in `api_key_command`", one_line(name, 80));
    let answer = run(&line, environment).await.map_err(|error| unstarted(&what, &error))?;
    let stdout = succeed(answer, &what, "")?;
    found(&stdout, &format!("from the command `{}`", one_line(name, 80)), KEEP)
}

/// The token that a program of the vendor's prints; `None` where it is not installed.
async fn from_program(program: &Program, environment: &Environment) -> Result<Option<FetchedKey>, ProviderError> {
    let what = format!("`{}`", program.line.join(" "));
    let answer = match run(program.line, environment).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        answer => answer.map_err(|error| unstarted(&what, &error))?,
    };
    let stdout = succeed(answer, &what, &format!("; {}", program.fix))?;
    let name = program.line.first().copied().unwrap_or_default();
    found(&stdout, &format!("from `{name}`"), program.lifetime).map(Some)
}

fn unstarted(what: &str, error: &io::Error) -> ProviderError {
    ProviderError::new(ErrorKind::Authentication, format!("{what} cannot be started: {error}"))
}

/// Runs a command that is looked up on the environment's `PATH`.
async fn run(line: &[&str], environment: &Environment) -> io::Result<Option<output::CommandOutput>> {
    let Some((program, args)) = line.split_first().filter(|(program, _)| !program.is_empty()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is empty"));
    };
    let mut command = Command::new(program);
    command.args(args);
    if let Some(path) = environment.value("PATH") {
        command.env("PATH", path);
    }
    output::output(command, COMMAND_TIME).await
}

/// What a command printed, if it did well.
fn succeed(answer: Option<output::CommandOutput>, what: &str, mend: &str) -> Result<Vec<u8>, ProviderError> {
    let fail = |words: String| Err(ProviderError::new(ErrorKind::Authentication, format!("{what} {words}{mend}")));
    let Some(answer) = answer else {
        let limit = COMMAND_TIME.as_secs();
        return fail(format!("did not finish within {limit} s; it has no terminal to ask questions on"));
    };
    let printed = first_line(&answer.stdout);
    if answer.end == CommandEnd::Exited(0) {
        return if printed.is_empty() { fail("printed nothing".to_owned()) } else { Ok(answer.stdout) };
    }
    let words = String::from_utf8_lossy(&answer.stderr);
    // What it printed may be a key, even a short one.
    let words = if printed.len() < SHORTEST_PRINTED { words.into_owned() } else { words.replace(&printed, "…") };
    let words = Key::from(printed.as_str()).redact(&words);
    let words = one_line(&words, MAX_WORDS);
    let how = match answer.end {
        CommandEnd::Exited(code) => format!("failed with exit code {code}"),
        CommandEnd::Signalled(signal) => format!("was killed by signal {signal}"),
        CommandEnd::Unknown => "failed".to_owned(),
    };
    fail(if words.is_empty() { how } else { format!("{how}: {words}") })
}

/// The key on the first line: password managers print other things below it.
fn found(stdout: &[u8], origin: &str, keep: Duration) -> Result<FetchedKey, ProviderError> {
    let key = Key::new(&first_line(stdout), origin)?;
    Ok(FetchedKey { key, variables: Vec::new(), until: Instant::now().checked_add(keep) })
}

fn first_line(stdout: &[u8]) -> String {
    let text = String::from_utf8_lossy(stdout);
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}
