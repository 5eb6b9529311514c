//! The reply, event by event.
//!
//! Every event of `ResponseStreamEvent` in the vendor's SDK (3.54) has a row; `…` means all that begin like this, a
//! name that begins with a dot for the same beginning.
//!
//! | event                                             | what becomes of it                                         |
//! |---------------------------------------------------|------------------------------------------------------------|
//! | `response.created`, `.queued`, `.in_progress`     | ignored on purpose: they bring nothing of the reply        |
//! | `response.output_item.added`                      | handled for the items below                                |
//! | `response.content_part.added`, `.done`            | ignored on purpose: the deltas and the item say it all     |
//! | `response.output_text.delta`                      | handled: prose                                             |
//! | `response.output_text.done`                       | handled: what the deltas have left out                     |
//! | `response.output_text.annotation.added`           | handled for `url_citation`: a source, told with the item   |
//! | `response.refusal.delta`                          | handled: prose, and the reply ends as a refusal            |
//! | `response.refusal.done`                           | handled: what the deltas have left out                     |
//! | `response.reasoning_summary_part.added`           | handled: an empty line before each part but the first      |
//! | `response.reasoning_summary_text.delta`           | handled: thinking                                          |
//! | `response.reasoning_text.delta`                   | handled: thinking, of open models behind this API          |
//! | `response.reasoning_summary_part.done`            | ignored on purpose: the deltas once more                   |
//! | `response.reasoning_summary_text.done`            | ignored on purpose: the deltas once more                   |
//! | `response.reasoning_text.done`                    | ignored on purpose: the deltas once more                   |
//! | `response.function_call_arguments.delta`          | handled                                                    |
//! | `response.function_call_arguments.done`           | handled: all of them; see [`super::versions`]              |
//! | `response.output_item.done`                       | handled: the item is complete; makes up for missing deltas |
//! | `response.completed`, `response.incomplete`       | handled: the reply is complete; usage; makes up for items  |
//! | a whole response in place of an event             | handled like them                                          |
//! | `[DONE]`                                          | handled: the reply is complete                             |
//! | `response.failed`, `error`                        | handled: end the reply with the matching error             |
//! | `response.audio…`                                 | ignored on purpose: no sound is asked for                  |
//! | `response.compaction…`                            | ignored on purpose: none is asked for                      |
//! | `response.web_search_call…`                       | ignored on purpose: the item says it all                   |
//! | `response.code_interpreter_call…`                 | ignored on purpose: the item says it all                   |
//! | `response.file_search_call…`, `.mcp…`             | ignored on purpose: no such tool is offered                |
//! | `response.image_generation_call…`, `.shell_call…` | ignored on purpose: no such tool is offered                |
//! | `response.custom_tool_call_input…`                | ignored on purpose: no tool without a schema is offered    |
//! | any other                                         | ignored on purpose: the API may bring new ones             |
//! | a delta for an item that is not open              | handled: begins a message or reasoning                     |
//!
//! | item                    | what becomes of it                                                                      |
//! |-------------------------|-----------------------------------------------------------------------------------------|
//! | `message`               | handled; the pages it cites come behind it                                              |
//! | `reasoning`             | handled; its encrypted thoughts, complete only in `output_item.done`, are the signature |
//! | `function_call`         | handled                                                                                 |
//! | `web_search_call`       | handled in `output_item.done`: see [`super::hosted`]                                    |
//! | `code_interpreter_call` | handled in `output_item.done`                                                           |
//! | any other               | ignored on purpose: no such tool is offered                                             |
//!
//! Several items may be open at a time, and an event belongs to the one that it names by its place or an id. A call has one
//! id, and what comes again with that id is another version of it: see [`super::versions`]. Hosted calls come whole and count
//! as none. Servers that follow the API leave out where an item begins or ends, which item a delta belongs to, or everything
//! but the last event. Events after the end mean nothing.

use serde_json::{Value, json};

use super::{
    hosted,
    reasoning::{self, texts},
    versions::{self, Version},
};
use crate::{
    again,
    counts::CountNames,
    reply::{Fault, ReadReply, items, made_up_id, push_text, push_thinking, str_of, take, text_of},
    stop_reason::stop_reason,
};
use flemma_model::{CallId, Event, StopReason, Usage, WebSource};

/// The separator between two parts of a summary.
const PART_BREAK: &str = "\n\n";

/// The API counts what it read from its cache, and what it wrote to it, as a part of the input.
const COUNTS: CountNames = CountNames {
    input: &["/input_tokens"],
    output: &["/output_tokens"],
    total: None,
    reasoning: "/output_tokens_details/reasoning_tokens",
    cache_read: &["/input_tokens_details/cached_tokens"],
    cache_write: "/input_tokens_details/cache_write_tokens",
    input_has_cache: true,
};

/// Reads one response of the Responses API.
#[derive(Default)]
pub(super) struct ResponsesReply {
    open: Vec<Open>,
    /// The items that are complete.
    done: Vec<Key>,
    /// The calls of them.
    calls: Vec<(Key, Version)>,
    /// The prose of them.
    prose: String,
    /// A part of it was a refusal.
    refused: bool,
    /// What is wrong with something that was handed on.
    fault: Option<&'static str>,
}

/// What tells an item from others. Servers leave any of it out.
#[derive(Clone, Default)]
struct Key {
    index: Option<u64>,
    item: Option<String>,
    call: Option<String>,
}

impl Key {
    /// What an event about `item` says; that is null where the event is about a piece of one.
    fn of(event: &Value, item: &Value) -> Self {
        let text = |value: &Value, field| Some(str_of(value, field).to_owned()).filter(|text| !text.is_empty());
        Self {
            index: event.get("output_index").and_then(Value::as_u64),
            item: text(event, "item_id").or_else(|| text(item, "id")),
            call: text(item, "call_id"),
        }
    }

    /// Whether both may be one item. Some servers write another id in each event, so the place goes first, and
    /// with the id of the item before that of the call.
    fn may_be(&self, other: &Self) -> bool {
        let is_item = || both(&self.index, &other.index).or_else(|| both(&self.item, &other.item));
        let is_place = both(&self.index, &other.index) == Some(true) && both(&self.item, &other.item) == Some(true);
        is_place || both(&self.call, &other.call).or_else(is_item) != Some(false)
    }

    /// Whether both have the same id.
    fn has_id_of(&self, other: &Self) -> bool {
        both(&self.call, &other.call).or_else(|| both(&self.item, &other.item)) == Some(true)
    }
}

/// Whether two values are the same; `None` where one is not known.
fn both<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> Option<bool> {
    Some(one.as_ref()? == other.as_ref()?)
}

/// An item that is being read.
struct Open {
    key: Key,
    item: Item,
    /// What of it has been handed on, and where its last part begins in that.
    shown: String,
    part: usize,
    /// What it cites.
    sources: Vec<WebSource>,
}

enum Item {
    Message,
    Reasoning,
    /// What its beginning says, what its pieces say, and what comes behind them.
    FunctionCall(Vec<Version>),
}

impl ReadReply for ResponsesReply {
    fn read(&mut self, mut event: Value, events: &mut Vec<Event>) -> Result<(), Fault> {
        if event.get("object").is_some_and(|object| object == "response") {
            let kind = str_of(&event, "status").to_owned();
            event = json!({ "type": format!("response.{kind}"), "response": event });
        }
        let kind = text_of(&mut event, "type").ok_or(Fault::Foreign("an event without a type"))?;
        let Some(kind) = kind.strip_prefix("response.") else { return Ok(()) };
        let item = take(&mut event, "item");
        let key = Key::of(&event, &item);
        match kind {
            "output_item.added" => drop(self.begin(key, &item, events)?),
            "output_item.done" => self.finish(key, item, events)?,
            "completed" | "incomplete" => {
                let mut response = take(&mut event, "response");
                let whole: String = items(&response, "output").iter().map(content).collect();
                if let Value::Array(items) = take(&mut response, "output") {
                    for (index, item) in items.into_iter().enumerate().filter(|_| kind == "completed") {
                        let key = Key::of(&json!({ "output_index": index }), &item);
                        if self.has_come(&key) {
                            self.check_again(&key, &item, events);
                        } else if let Err(what) = self.finish(key, item, events) {
                            self.fault = Some(what);
                        }
                    }
                }
                let stop = self.stop(kind, response.pointer("/incomplete_details/reason"), events);
                push_text(again::rest(&self.prose, &whole).unwrap_or_default(), events);
                let usage = response.get("usage").and_then(|usage| COUNTS.read(usage, Usage::default()));
                events.extend(usage.map(Event::Usage));
                events.push(Event::Finished(stop));
            }
            "failed" => {
                let error = event.pointer_mut("/response/error").map(Value::take).unwrap_or_default();
                return Err(Fault::Error(json!({ "error": error })));
            }
            kind => self.extend(kind, key, event, events)?,
        }
        self.fault.take().map_or(Ok(()), |what| Err(what.into()))
    }

    fn end(&mut self, is_said: bool, events: &mut Vec<Event>) -> Result<(), Fault> {
        if is_said {
            let stop = self.stop("completed", None, events);
            events.push(Event::Finished(stop));
        } else {
            // What has begun is kept, though it is not whole.
            let has_begun = |version: &Version| !version.arguments.is_empty();
            self.open
                .retain(|open| !matches!(&open.item, Item::FunctionCall(versions) if !versions.iter().any(has_begun)));
            self.close(|_| true, events);
        }
        self.fault.take().map_or(Ok(()), |what| Err(what.into()))
    }
}

impl ResponsesReply {
    /// The place of the open item of a kind that an event is about; `None` if it may be about several.
    fn find(&self, kind: &str, key: &Key) -> Option<usize> {
        let fits = |open: &&Open| open.item.kind() == kind && open.key.may_be(key);
        let is_only = self.open.iter().filter(fits).count() == 1;
        self.open.iter().position(|open| fits(&open) && (is_only || open.key.has_id_of(key)))
    }

    /// Whether an item is complete. Its place alone does not say it.
    fn is_done(&self, key: &Key) -> bool {
        self.done.iter().any(|done| done.may_be(key) && done.has_id_of(key))
    }

    /// Whether an item in the list at the end has come already. Of items without a place the count says it.
    fn has_come(&self, key: &Key) -> bool {
        let unplaced = self.done.iter().filter(|done| done.index.is_none()).count() as u64;
        self.is_done(key)
            || self.done.iter().any(|done| done.index == key.index)
            || key.index.is_some_and(|index| index < unplaced)
    }

    /// Begins an item; `false` for one that has come already or is none of ours. Says what is wrong with one that cannot be
    /// read. Prose and thinking end where the other begins.
    fn begin(&mut self, key: Key, item: &Value, events: &mut Vec<Event>) -> Result<bool, &'static str> {
        let kind = item.get("type").and_then(Value::as_str).ok_or("an item without a type")?;
        let item = match kind {
            "message" => Item::Message,
            "reasoning" => Item::Reasoning,
            "function_call" => {
                let begun = Version::of(item.clone());
                if begun.name.is_empty() {
                    return Err("a function call without a name");
                }
                let pieces = Version { arguments: String::new(), ..begun.clone() };
                // Nothing is known yet of one that has no arguments here.
                let begun = Some(begun).filter(|begun| !["", "{}"].contains(&begun.arguments.trim()));
                Item::FunctionCall([pieces].into_iter().chain(begun).collect())
            }
            other => {
                // It is only told of here: it counts once it is complete.
                events
                    .extend(hosted::name(other).map(|name| Event::ToolUseProgress { name: name.to_owned(), bytes: 0 }));
                return Ok(false);
            }
        };
        let is_open = |open: &Open| both(&open.key.call, &key.call) == Some(true);
        if self.is_done(&key) || self.open.iter().any(is_open) {
            return Ok(false);
        }
        match &item {
            Item::FunctionCall(versions) => events.push(progress(&versions[0])),
            _ => self.close(|item| !matches!(item, Item::FunctionCall(_)), events),
        }
        if let Item::Reasoning = item {
            events.push(Event::ThinkingStarted);
        }
        self.open.push(Open { key, item, shown: String::new(), part: 0, sources: Vec::new() });
        Ok(true)
    }

    /// Takes a piece of an open item; says so when none is open that it belongs to.
    fn extend(&mut self, kind: &str, key: Key, mut event: Value, events: &mut Vec<Event>) -> Result<(), &'static str> {
        let needed = match kind.split('.').next().unwrap_or_default() {
            "output_text" | "refusal" => "message",
            "function_call_arguments" => "function_call",
            word if word.starts_with("reasoning_") => "reasoning",
            _ => return Ok(()),
        };
        let is_delta = kind.ends_with(".delta");
        let whole = if needed == "message" && kind.ends_with(".done") { words(&event) } else { String::new() };
        let mut at = self.find(needed, &key);
        if at.is_none() && needed == "function_call" {
            return Err("a delta for a function call that is not open");
        }
        if at.is_none() && (is_delta || !whole.is_empty()) {
            self.begin(key.clone(), &json!({ "type": needed }), events)?;
            at = self.find(needed, &key);
        }
        let Some(open) = at.and_then(|at| self.open.get_mut(at)) else { return Ok(()) };
        let delta = text_of(&mut event, "delta").unwrap_or_default();
        let is_shown = !open.shown.is_empty();
        open.shown.push_str(&delta);
        match (kind, &mut open.item) {
            ("output_text.delta", _) => push_text(delta, events),
            ("refusal.delta", _) => {
                self.refused = true;
                push_text(delta, events);
            }
            ("output_text.done" | "refusal.done", _) => {
                self.refused |= kind == "refusal.done" && !whole.is_empty();
                self.fault = open.complete(open.part, &whole, events).or(self.fault);
                open.part = open.shown.len();
            }
            ("output_text.annotation.added", _) => hosted::cite(&take(&mut event, "annotation"), &mut open.sources),
            ("reasoning_summary_part.added", _) if is_shown => push_thinking(PART_BREAK.to_owned(), events),
            ("reasoning_summary_text.delta" | "reasoning_text.delta", _) => push_thinking(delta, events),
            ("function_call_arguments.delta", Item::FunctionCall(versions)) => {
                versions[0].arguments.push_str(&delta);
                events.push(progress(&versions[0]));
            }
            ("function_call_arguments.done", Item::FunctionCall(versions)) => {
                event.get("arguments").filter(|all| all.is_string()).ok_or("the end of arguments without arguments")?;
                let end = Version::of(event);
                let name = if end.name.is_empty() { versions[0].name.clone() } else { end.name };
                versions.push(Version { name, ..end });
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends an item. One that was never begun comes whole, and one that has ended does not come again.
    fn finish(&mut self, key: Key, item: Value, events: &mut Vec<Event>) -> Result<(), &'static str> {
        if let Some(result) = hosted::events(&item)? {
            self.done.push(key);
            events.extend(result);
            return Ok(());
        }
        let kind = str_of(&item, "type").to_owned();
        let at = match self.find(&kind, &key) {
            None if self.is_done(&key) => {
                self.check_again(&key, &item, events);
                return Ok(());
            }
            None if self.begin(key.clone(), &item, events)? => self.open.len().checked_sub(1),
            at => at,
        };
        self.done.push(key.clone());
        // What has not begun now is none of ours.
        let Some(mut open) = at.map(|at| self.open.remove(at)) else { return Ok(()) };
        match open.item {
            Item::Message => {
                self.refused |= !texts(&item, "content", "refusal").is_empty();
                self.fault = open.complete(0, &content(&item), events).or(self.fault);
                self.prose.push_str(&open.shown);
                hosted::cite_all(&item, &mut open.sources);
                hosted::push_citations(open.sources, events);
            }
            Item::Reasoning => {
                let parts = [texts(&item, "summary", "text"), texts(&item, "content", "text")].concat();
                push_thinking(again::rest(&open.shown, &parts.join(PART_BREAK)).unwrap_or_default(), events);
                events.push(Event::ThinkingFinished { signature: reasoning::sign(&item) });
            }
            Item::FunctionCall(mut versions) => {
                versions.push(Version::of(item));
                let call = key.call.or(open.key.call);
                self.call(Key { call, ..key }, versions, events);
            }
        }
        Ok(())
    }

    /// Hands a call on.
    fn call(&mut self, key: Key, versions: Vec<Version>, events: &mut Vec<Event>) {
        let (call, fault) = versions::last(&versions, events);
        self.fault = fault.or(self.fault);
        let id = key.call.clone().map_or_else(|| made_up_id("call"), CallId);
        events.push(Event::ToolUse { id, name: call.name.clone(), input: call.input() });
        self.calls.push((key, call));
    }

    /// Looks whether an item that comes again is a call, and not the one that it was.
    fn check_again(&mut self, key: &Key, item: &Value, events: &mut Vec<Event>) {
        let again = Version::of(item.clone());
        let may_be = |of: &Key| of.may_be(key) || both(&of.index, &key.index) == Some(true);
        let is_same = |(of, call): &(Key, Version)| may_be(of) && call.allows(&again);
        if str_of(item, "type") == "function_call" && !self.calls.iter().any(is_same) {
            self.fault = Some(again.keep(events));
        }
    }

    /// Ends the open items of which nothing more is to come.
    fn close(&mut self, ends: impl Fn(&Item) -> bool, events: &mut Vec<Event>) {
        for open in self.open.extract_if(.., |open| ends(&open.item)).collect::<Vec<_>>() {
            self.done.push(open.key.clone());
            hosted::push_citations(open.sources, events);
            match open.item {
                Item::Reasoning => events.push(Event::ThinkingFinished { signature: None }),
                Item::FunctionCall(versions) => self.call(open.key, versions, events),
                Item::Message => self.prose.push_str(&open.shown),
            }
        }
    }

    /// Why the reply ends.
    fn stop(&mut self, kind: &str, reason: Option<&Value>, events: &mut Vec<Event>) -> StopReason {
        self.close(|_| true, events);
        match reason.and_then(Value::as_str) {
            _ if kind == "completed" && self.refused => StopReason::Refusal,
            _ if kind == "completed" => StopReason::EndTurn,
            Some(word) => stop_reason(word, ""),
            None => StopReason::Other("incomplete, without a reason".to_owned()),
        }
    }
}

impl Open {
    /// Hands on what `whole` has behind the pieces from there. Says so if it is another text, and hands on all of it.
    fn complete(&mut self, from: usize, whole: &str, events: &mut Vec<Event>) -> Option<&'static str> {
        if let Some(rest) = again::rest(&self.shown[from..], whole) {
            self.shown.push_str(&rest);
            push_text(rest, events);
            return None;
        }
        self.shown.truncate(from);
        self.shown.push_str(whole);
        push_text(format!("{PART_BREAK}{whole}"), events);
        Some("a text that differs from its pieces")
    }
}

impl Item {
    /// The name in the API.
    fn kind(&self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Reasoning => "reasoning",
            Self::FunctionCall(_) => "function_call",
        }
    }
}

/// The prose of an item; none of one that is no message.
fn content(item: &Value) -> String {
    let is_message = str_of(item, "type") == "message";
    items(item, "content").iter().filter(|_| is_message).map(words).collect()
}

/// What is in a part of a message.
fn words(part: &Value) -> String {
    ["text", "refusal"].map(|field| str_of(part, field)).concat()
}

fn progress(pieces: &Version) -> Event {
    Event::ToolUseProgress { name: pieces.name.clone(), bytes: pieces.arguments.len() }
}
