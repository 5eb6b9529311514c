//! What `:checkhealth flemma` says of providers: where each key comes from, and whether the server answers and takes it.
//!
//! Every provider that the user has set up is asked for its models, all at once: that costs nothing. A server or a command that is
//! late is left to itself: what it gives is there the next time.

use std::{
    env, fs,
    sync::mpsc,
    time::{Duration, Instant},
};

use serde::Serialize;
use serde_json::Value;

use crate::components::Switches;
use flemma_config::{Config, ProviderOptions, leaves, switch::Switch};
use flemma_provider::{ErrorKind, ProviderError, ProviderName, auth::Environment};
use flemma_runtime::{Recipient, http::Timeouts};
use flemma_text::suggest::nearest;

/// How long the report waits for all of them together: nothing else goes on in the editor meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// One line of the report, at the level that it is shown at: the name of a function in Neovim's `vim.health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "level", content = "message", rename_all = "lowercase")]
pub enum Finding {
    /// The title of a section.
    Start(String),
    /// All is well.
    Ok(String),
    /// Nothing is known to be missing.
    Info(String),
    /// Something may be missing.
    Warn(String),
    /// Requests cannot succeed.
    Error(String),
}

/// What becomes known of a provider.
enum Step {
    /// Where its key is, in words that follow "the key".
    Key(Option<String>),
    /// The models of its server, or why there are none.
    Models(Result<Vec<String>, ProviderError>),
}

/// A provider that is being asked.
struct Asked {
    provider: ProviderName,
    model: String,
    has_server: bool,
    steps: mpsc::Receiver<Step>,
}

impl Switches {
    /// Waits for two seconds at most. `versions` is the first line of what a report about a problem needs.
    pub fn health(&self, versions: &str) -> Vec<Finding> {
        let until = Instant::now() + PATIENCE;
        let [setup, runtime] = self.shared.options.layers();
        let config = self.shared.config();
        let named = ProviderName::all().filter(|name| setup.pointer(&format!("/parameters/{}", name.name())).is_some());
        let own = [config.provider].into_iter().chain(named).map(|name| (name, config.parameters_for(name)));
        let presets = config.presets.keys().filter_map(|name| {
            let layer = Switch::parse(std::slice::from_ref(name), &config).ok()?.over(&Value::Null);
            let preset = Config::from_layers(&[setup.clone(), layer]).ok()?;
            Some((preset.provider, preset.parameters_for(preset.provider)))
        });
        let mut asked: Vec<Asked> = Vec::new();
        for (provider, options) in own.chain(presets) {
            if !asked.iter().any(|known| known.provider == provider && known.model == options.model) {
                asked.push(self.ask(provider, options));
            }
        }
        let mut findings = vec![Finding::Start("Providers".to_owned())];
        if config.model().is_empty() {
            let example = "`:Flemma switch` shows what the server has";
            findings.push(Finding::Error(format!("`model` is not set for `{}`; {example}", config.provider.name())));
        }
        findings.extend(asked.iter().map(|asked| asked.finding(until)));
        let set = [&setup, &runtime].into_iter().flat_map(leaves).map(|(path, _)| path.join("."));
        let set: Vec<String> = set.filter(|path| !path.is_empty()).collect();
        let value = |name: &str| env::var(name).unwrap_or_default();
        let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let system =
            system.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or_default().trim_matches('"');
        findings.push(Finding::Start("For a report about a problem".to_owned()));
        findings.push(Finding::Info(format!(
            "{versions}\n{system}, terminal {} {}\n{}\noptions that are set: {}",
            value("TERM"),
            value("TERM_PROGRAM"),
            asked.first().map(Asked::title).unwrap_or_default(),
            set.join(", "),
        )));
        findings
    }

    fn ask(&self, provider: ProviderName, options: ProviderOptions) -> Asked {
        let (steps, receiver) = mpsc::channel();
        let models = steps.clone();
        let (timeouts, model) = (Timeouts::of(&options), options.model.clone());
        let recipient = Recipient::of(options, Environment::of_process());
        let has_server = recipient.credential.is_some();
        // Nobody listens any more when the report has been made. If no thread can be started, nothing comes.
        let _ = self.background.worker.models(
            recipient,
            timeouts,
            move |key| drop(steps.send(Step::Key(key.map(str::to_owned)))),
            move |answer| drop(models.send(Step::Models(answer))),
        );
        Asked { provider, model, has_server, steps: receiver }
    }
}

impl Asked {
    fn title(&self) -> String {
        let model = if self.model.is_empty() { "no model" } else { &self.model };
        format!("provider `{}`, {model}", self.provider.name())
    }

    fn finding(&self, until: Instant) -> Finding {
        let title = self.title();
        if !self.has_server {
            return Finding::Info(format!(
                "{title}: a script. Set `provider` to talk to a model, see `:help flemma-providers`"
            ));
        }
        let next = || self.steps.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
        let seconds = PATIENCE.as_secs();
        let key = match next() {
            Some(Step::Key(origin)) => origin.map_or("no key".to_owned(), |origin| format!("the key is {origin}")),
            Some(Step::Models(Err(error))) => return Finding::Error(format!("{title}: {error}")),
            _ => {
                return Finding::Warn(format!(
                    "{title}: no key came within {seconds} s. A command may be asking for a password: check again afterwards"
                ));
            }
        };
        match next() {
            Some(Step::Models(Ok(names))) => match self.unlisted(&names) {
                Some(why) => Finding::Warn(format!("{title}: {key}; {why}")),
                None => Finding::Ok(format!("{title}: {key}; the server answers")),
            },
            Some(Step::Models(Err(error))) if error.kind == ErrorKind::InvalidRequest => {
                Finding::Info(format!("{title}: {key}; the server answers, and does not list its models: {error}"))
            }
            Some(Step::Models(Err(error))) => Finding::Error(format!("{title}: {key}; {error}")),
            _ => Finding::Warn(format!("{title}: {key}; the server has not answered within {seconds} s")),
        }
    }

    /// What is wrong with the model, if its server has others. The vendors list only some of theirs.
    fn unlisted(&self, names: &[String]) -> Option<String> {
        let is_listed =
            |name: &String| name.strip_suffix(":latest").unwrap_or(name) == self.model || *name == self.model;
        if self.provider.models().is_some() || self.model.is_empty() || names.iter().any(is_listed) {
            return None;
        }
        let near = nearest(&self.model, names.iter().map(String::as_str)).or(names.first().map(String::as_str));
        Some(format!(
            "the server does not list this model, but {} others, such as {}",
            names.len(),
            near.unwrap_or("none")
        ))
    }
}
