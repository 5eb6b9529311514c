//! `flemma run`: a conversation is carried on in a headless Neovim.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    arguments::{Run, Takeover},
    desk::{Desk, Lock, Opened},
    editor, files,
    headless::{Happening, Headless, WARN},
    names,
    report::{Exit, Failure, Report, count, is_far, words},
    state::{self, Configuration},
    waiting::{Call, Look},
};
use flemma_chat::{Document, Tail};

/// How long another process may hold the conversation before this one gives up.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// How long what is under way may take to end.
const GRACE: Duration = Duration::from_secs(15);

/// The same before the conversation is carried on.
const SHORT: Duration = Duration::from_secs(1);

/// How long Neovim may take to start.
const START: Duration = Duration::from_secs(120);

/// Carries a conversation on until it is done, waits for a person, or fails.
pub(super) fn run(arguments: &Run) -> Report {
    try_to_run(arguments).unwrap_or_else(|failure| {
        let state = if failure.exit() == Exit::Held { "held" } else { "failed" };
        let mut json = failure.to_json();
        json["file"] = arguments.path.to_string_lossy().into();
        json["state"] = state.into();
        json["requests"] = 0.into();
        Report { text: String::new(), json, warnings: vec![failure.to_string()], exit: failure.exit() }
    })
}

fn try_to_run(arguments: &Run) -> Result<Report, Failure> {
    let begin = Instant::now();
    let configuration = Configuration::read()?;
    let (_, lines) = files::read(&arguments.path)?;
    let document = Document::parse(&lines);
    if Tail::of(document.messages(), &lines) == Tail::Reply && document.calls().open(&lines).is_empty() {
        return Ok(report(&arguments.path, &json!({ "state": "done", "requests": 0 }), &[], Vec::new()));
    }
    let timeout = arguments.timeout.map(Duration::from_secs);
    wait_for_holder(&arguments.path, arguments.takeover, timeout.map(|timeout| begin + timeout))?;
    let path = state::absolute(&arguments.path)?;
    let options = json!({
        "trust": arguments.trust,
        "max_turns": arguments.max_turns,
        "provider": arguments.provider,
        "model": arguments.model,
    });
    let program = configuration.nvim.unwrap_or_else(|| PathBuf::from("nvim"));
    let neovim = Headless::start(&program, &path.to_string_lossy(), &options)
        .map_err(|error| Failure::Failed(format!("{} was not started: {}", program.display(), words(&error))))?;
    let (mut result, warnings) = Drive { neovim, begin, timeout, warnings: Vec::new(), last: None }.follow();
    if result["state"] == "held" {
        let owner = serde_json::from_value(result["owner"].take()).ok();
        return Err(Failure::Held { file: names::path(&arguments.path), owner });
    }
    let mut lines = Vec::new();
    if result["state"] == "suspended" {
        let calls = Look::new()?.at(&arguments.path)?.into_iter().filter(|call| call.found.is_waiting());
        let calls: Vec<Call> = calls.collect();
        lines.extend(calls.iter().map(line_of_call));
        if let Some(waiting) = result["waiting"].as_array_mut() {
            lines.splice(..0, waiting.iter().map(|question| line_of_question(&names::path(&arguments.path), question)));
            waiting.extend(calls.iter().map(Call::to_json));
        }
    }
    Ok(report(&arguments.path, &result, &lines, warnings))
}

/// Waits until no other process holds the conversation, but not for ever. Another `flemma` does not take long, and a Neovim
/// may be about to exit. After `end`, nothing is taken over any more.
fn wait_for_holder(path: &Path, takeover: Takeover, end: Option<Instant>) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    let mut lock = Lock::Ask;
    loop {
        let owner = match Desk::open(path, lock)? {
            Opened::Here(desk) => return desk.close().1,
            Opened::Elsewhere(owner) => owner,
        };
        let is_far = owner.as_ref().is_some_and(is_far);
        let is_over = end.is_some_and(|end| Instant::now() >= end);
        let is_late = is_far || is_over || Instant::now() >= deadline;
        if is_late && !is_over && takeover.steal && lock == Lock::Ask && (is_far || !editor::has_answering(path)?) {
            lock = Lock::Steal;
        } else if is_late || attended(path) == Some(true) {
            return Err(match attended(path).filter(|_| !is_far) {
                Some(has_user) => {
                    let how = if has_user {
                        "has it open in an editor. Close it there, or continue it there"
                    } else {
                        "is working on it. Wait until it has ended, or end it"
                    };
                    Failure::InUse { file: names::path(path), owner, how }
                }
                None => Failure::Held { file: names::path(path), owner },
            });
        } else {
            thread::sleep(PAUSE);
        }
    }
}

/// Whether a user has the conversation open, in a Neovim that answers; `None` if none does.
fn attended(path: &Path) -> Option<bool> {
    let mut editor = editor::of(path).ok()??;
    let answer = editor.answers().then(|| editor.lua("return tostring(#vim.api.nvim_list_uis() > 0)", &[]));
    Some(answer?.ok()? == "true")
}

/// One conversation that is being carried on.
struct Drive {
    neovim: Headless,
    /// When the command began. The timeout counts from here.
    begin: Instant,
    timeout: Option<Duration>,
    warnings: Vec<String>,
    /// The last warning, which may say why the conversation failed.
    last: Option<String>,
}

impl Drive {
    /// Follows it to its end. Gives that, and what the user was warned of.
    fn follow(mut self) -> (Value, Vec<String>) {
        let begin = self.begin;
        let start = Instant::now() + START;
        let mut until = Some(self.timeout.map_or(start, |timeout| start.min(begin + timeout)));
        let (mut has_begun, mut stopped) = (false, None::<String>);
        let result = loop {
            match self.neovim.next(until) {
                Some(Happening::Begun) if !has_begun => {
                    has_begun = true;
                    if stopped.is_none() {
                        until = self.timeout.map(|timeout| begin + timeout);
                    }
                }
                Some(Happening::Begun | Happening::Mode(..)) => {}
                Some(Happening::Refused(problem)) => break failed(&refusal(&problem)),
                Some(Happening::Message(level, words)) => self.hear(level, words),
                Some(Happening::End(result)) => break result,
                Some(Happening::Gone) => break failed(&with_details("Neovim exited", &self.neovim.printed())),
                Some(Happening::Signal(signal)) if stopped.is_none() => {
                    let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
                    stopped = Some(format!("it was stopped by {name}"));
                    until = Some(Instant::now() + if has_begun { GRACE } else { SHORT });
                    self.neovim.stop();
                }
                // The user insists.
                Some(Happening::Signal(_)) => {
                    self.neovim.kill();
                    break failed("it was killed before what was under way had ended");
                }
                None if stopped.is_some() => {
                    self.neovim.kill();
                    break failed("it did not stop, and was killed");
                }
                None if !has_begun && self.timeout.is_none_or(|timeout| timeout > START) => {
                    self.neovim.kill();
                    let words = format!("Neovim did not start within {} seconds", START.as_secs());
                    break failed(&with_details(&words, &self.neovim.printed()));
                }
                None => {
                    let seconds = count(self.timeout.unwrap_or_default().as_secs() as usize, "second");
                    stopped = Some(format!("it was stopped after {seconds} (--timeout)"));
                    until = Some(Instant::now() + if has_begun { GRACE } else { SHORT });
                    self.neovim.stop();
                }
            }
        };
        self.neovim.close();
        if stopped.is_none() && result["state"] == "failed" && result["requests"] == 0 {
            // What the user of an editor would see, such as an error in the configuration.
            let printed = self.neovim.printed();
            if !printed.is_empty() && !result["error"].as_str().is_some_and(|error| error.contains(&printed)) {
                self.warn(format!("Neovim printed: {printed}"));
            }
        }
        (self.conclude(result, stopped), self.warnings)
    }

    /// A message to the user. The last one is kept until it is known whether it says why the conversation failed.
    fn hear(&mut self, level: u64, words: String) {
        if level >= WARN
            && let Some(before) = self.last.replace(words)
        {
            self.warn(before);
        }
    }

    fn warn(&mut self, words: String) {
        let _ = writeln!(io::stderr(), "flemma: {}", names::message(&words));
        self.warnings.push(words);
    }

    fn conclude(&mut self, mut result: Value, stopped: Option<String>) -> Value {
        let is_failed = result["state"] == "failed";
        if is_failed && let Some(stopped) = stopped {
            result["error"] = stopped.into();
        }
        if is_failed && result["error"].is_null() {
            result["error"] = self.last.take().unwrap_or_else(|| "it did not go on".to_owned()).into();
        }
        if let Some(words) = self.last.take().filter(|words| result["error"] != words.as_str()) {
            self.warn(words);
        }
        result
    }
}

fn failed(reason: &str) -> Value {
    json!({ "state": "failed", "error": reason, "requests": 0 })
}

/// Why Neovim does not carry the conversation on.
fn refusal(problem: &str) -> String {
    if problem.contains("module 'flemma.command_line.headless' not found") {
        return "Neovim does not have Flemma with your configuration, or an older version of it; `nvim` in a terminal has to \
                show it in :checkhealth flemma"
            .to_owned();
    }
    format!("Neovim cannot run it: {}", problem.lines().next().unwrap_or_default())
}

fn with_details(words: &str, printed: &str) -> String {
    if printed.is_empty() { words.to_owned() } else { format!("{words}. Last output: {printed}") }
}

/// What is said of a conversation that has come to its end.
fn report(path: &Path, result: &Value, lines: &[String], warnings: Vec<String>) -> Report {
    let file = names::path(path);
    let state = result["state"].as_str().unwrap_or("failed");
    let waiting = result["waiting"].as_array().cloned().unwrap_or_default();
    let (text, exit) = match state {
        "done" => (format!("{file}: done"), Exit::Done),
        "suspended" => (lines.join("\n"), Exit::Suspended),
        _ => (String::new(), Exit::Failed),
    };
    let mut json = json!({ "ok": exit == Exit::Done, "file": path.to_string_lossy(), "state": state });
    if let (Value::Object(json), Value::Object(result)) = (&mut json, result) {
        json.extend(result.iter().filter(|(key, _)| *key != "state").map(|(key, value)| (key.clone(), value.clone())));
    }
    json["kinds"] = kinds(&waiting);
    json["warnings"] = warnings.into();
    let mut report = Report::done(text, json);
    report.exit = exit;
    if exit == Exit::Failed {
        let error = result["error"].as_str().unwrap_or("it did not go on");
        report.warnings = vec![format!("{file}: {}", names::message(error))];
    }
    report
}

fn kinds(waiting: &[Value]) -> Value {
    let mut kinds: Vec<&str> = waiting.iter().filter_map(|call| call["kind"].as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    json!(kinds)
}

/// One line about a call that waits.
fn line_of_call(call: &Call) -> String {
    format!("kind={} {}", call.kind().unwrap_or("undecided"), call.to_line())
}

/// One line about what the user has to trust.
fn line_of_question(file: &str, question: &Value) -> String {
    let mut line = format!("kind=trust {file}:{}:", question["line"]);
    if let Some(language) = question["frontmatter"].as_str() {
        line += &format!(" the frontmatter ({})", names::word(language));
    }
    if let Some(files) = question["files"].as_array() {
        let files = files.iter().filter_map(Value::as_str).map(|file| names::path(Path::new(file)));
        line += &format!(" the files {}", files.collect::<Vec<_>>().join(", "));
    }
    if let Some(files) = question["instructions"].as_array() {
        let files = files.iter().filter_map(Value::as_str).map(names::word);
        line += &format!(" the instructions in {}", files.collect::<Vec<_>>().join(", "));
    }
    line
}
