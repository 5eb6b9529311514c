//! Retention: a request leaves out old results.
//!
//! [`RetentionRules::apply`] goes over the messages of a request and replaces old results by a stub, which tells the model
//! what was there. The document is not involved: it keeps every byte. What is left out depends only on the messages and the
//! rules, so it is the same for each attempt, and after a restart.
//!
//! A provider caches the beginning of a conversation, and whatever is left out changes it. So two rules keep changes rare:
//!
//! * Only what came before the user's last own message is counted and left out. Nothing changes while the model works on
//!   that message, however many requests it takes.
//! * Results are left out in batches. A tool that keeps `n` results keeps `n` to `2n - 1` of those that were counted:
//!   when there are `2n`, the first `n` are left out. A batch moves the end of the unchanged beginning once for `n`
//!   results, so each result is written to the cache about once more than without retention, whatever `n` is.

use std::{collections::HashMap, sync::Arc};

use super::{Definition, Executor};
use flemma_config as config;
use flemma_config::Retention;
use flemma_model::{CallId, Message, Part, Role};
use flemma_provider::usage::figures::grouped;

/// The longest error that is never left out, in bytes. It may be the user's own reason for a rejection.
const SHORT_ERROR: usize = 1_000;

/// Which results of which tool stay whole.
#[derive(Clone, Debug)]
pub struct RetentionRules {
    general: Retention,
    tools: HashMap<String, Retention>,
}

impl RetentionRules {
    /// The rules for these tools. The user's options for a tool beat its definition, which beats `tools.retention`. The
    /// answers of the user (`executor = "human"`) stay whole unless one of the first two says otherwise: to call the tool
    /// again would be to ask again.
    pub fn new<'a>(options: &config::Tools, definitions: impl IntoIterator<Item = &'a Definition>) -> Self {
        let declared = |tool: &Definition| match (tool.retention, &tool.executor) {
            (None, Executor::Human) => Some(Retention::Everything),
            (retention, _) => retention,
        };
        let declared = definitions.into_iter().filter_map(|tool| Some((tool.name.clone(), declared(tool)?)));
        let users = options.own_retention().map(|(tool, retention)| (tool.clone(), retention));
        Self {
            general: options.retention.retention().unwrap_or(Retention::Everything),
            tools: declared.chain(users).collect(),
        }
    }

    /// Replaces old results by stubs, with their attachments. Results that a provider's own tools gave are left alone.
    ///
    /// Messages in which nothing is replaced stay shared. The time follows the number of messages and parts.
    pub fn apply(&self, messages: &mut [Arc<Message>]) {
        let mut retentions = [&self.general].into_iter().chain(self.tools.values());
        if retentions.all(|retention| *retention == Retention::Everything) {
            return;
        }
        for (message, part, stub) in self.stubs(&messages[..past(messages)]) {
            if let Some(part) = Arc::make_mut(&mut messages[message]).parts.get_mut(part) {
                *part = stub;
            }
        }
    }

    /// What takes the place of old results in these messages: each with its message, and the part of that.
    fn stubs(&self, messages: &[Arc<Message>]) -> Vec<(usize, usize, Part)> {
        // A vendor may use an id again; a result belongs to the last call before it.
        let mut calls: HashMap<&CallId, &str> = HashMap::new();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let (mut results, mut turns, mut role) = (Vec::new(), 0, Role::User);
        for (at, message) in messages.iter().enumerate() {
            turns += usize::from(message.role == Role::Assistant && role == Role::User);
            role = message.role;
            for (part_at, part) in message.parts.iter().enumerate() {
                match part {
                    Part::ToolUse { id, name, .. } => drop(calls.insert(id, name)),
                    Part::ToolResult { id, .. } => {
                        let Some(&tool) = calls.get(id) else { continue };
                        let count = counts.entry(tool).or_default();
                        // How many results of the tool came before it, and its turn, from 1.
                        results.push(((at, part_at), tool, *count, turns));
                        *count += 1;
                    }
                    _ => {}
                }
            }
        }
        let is_old = |tool: &str, nth: usize, turn: usize| match self.tools.get(tool).copied().unwrap_or(self.general) {
            Retention::Everything => false,
            Retention::LastResults(kept) => nth < left_out(counts[tool], kept.get()),
            Retention::LastTurns(kept) => turn <= left_out(turns, kept.get()),
        };
        let old = results.into_iter().filter(|(_, tool, nth, turn)| is_old(tool, *nth, *turn));
        old.filter_map(|((at, part), ..)| Some((at, part, stub(&messages[at].parts[part])?))).collect()
    }
}

/// How many messages come before the user's last own words, and before the results that were sent together with them.
fn past(messages: &[Arc<Message>]) -> usize {
    let is_own = |part: &Part| matches!(part, Part::Text(_) | Part::Attachment(_));
    let own = messages.iter().rposition(|message| message.role == Role::User && message.parts.iter().any(is_own));
    let Some(own) = own else { return 0 };
    messages[..own].iter().rposition(|message| message.role == Role::Assistant).map_or(0, |reply| reply + 1)
}

/// How many of `all` are left out where at least `kept` are kept: a multiple of `kept`.
fn left_out(all: usize, kept: u32) -> usize {
    let kept = kept as usize;
    all.saturating_sub(kept) / kept * kept
}

/// What takes the place of a result; `None` if it stays, because it is short or is no result.
fn stub(result: &Part) -> Option<Part> {
    let Part::ToolResult { id, output, is_error, attachments } = result else { return None };
    let count = |count: usize, noun: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{} {noun}{plural}", grouped(count as u64))
    };
    let size = match (output.len(), attachments.len()) {
        (bytes, 0) => count(bytes, "byte"),
        (0, files) => count(files, "file"),
        (bytes, files) => format!("{} and {}", count(bytes, "byte"), count(files, "file")),
    };
    let what = if *is_error { "error" } else { "result" };
    let text =
        format!("[The {what} of this call ({size}) was left out to save space. Call the tool again if you need it.]");
    let is_short = output.len() <= text.len() || (*is_error && output.len() <= SHORT_ERROR);
    if is_short && attachments.is_empty() {
        return None;
    }
    Some(Part::ToolResult { id: id.clone(), output: text.into(), is_error: *is_error, attachments: Vec::new() })
}
