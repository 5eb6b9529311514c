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
//! | `response.output_text.done`                       | ignored on purpose: the deltas once more                   |
//! | `response.output_text.annotation.added`           | handled for `url_citation`: a source, told with the item   |
//! | `response.refusal.delta`                          | handled: prose, and the reply ends as a refusal            |
//! | `response.refusal.done`                           | ignored on purpose: the deltas once more                   |
//! | `response.reasoning_summary_part.added`           | handled: an empty line before each part but the first      |
//! | `response.reasoning_summary_text.delta`           | handled: thinking                                          |
//! | `response.reasoning_text.delta`                   | handled: thinking, of open models behind this API          |
//! | `response.reasoning_summary_part.done`            | ignored on purpose: the deltas once more                   |
//! | `response.reasoning_summary_text.done`            | ignored on purpose: the deltas once more                   |
//! | `response.reasoning_text.done`                    | ignored on purpose: the deltas once more                   |
//! | `response.function_call_arguments.delta`          | handled                                                    |
//! | `response.function_call_arguments.done`           | handled: all of them, instead of the deltas                |
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
//! One item is open at a time, as the API sends them; hosted calls come whole and count as none. Servers that follow it
//! leave out where an item begins or ends, which item a delta belongs to, or everything but the last event. Events after
//! the end mean nothing.

use serde_json::{Value, json};

use super::{
    hosted,
    reasoning::{self, texts},
};
use crate::{
    counts::CountNames,
    reply::{Fault, ReadReply, made_up_id, push_text, push_thinking, str_of, take, text_of, tool_input},
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
    open: Option<Open>,
    /// The places of the items that are complete.
    done: Vec<Option<u64>>,
    /// A part of it was a refusal.
    refused: bool,
}

/// The item that is being read.
struct Open {
    index: Option<u64>,
    item: Item,
    /// Something of it has been handed on.
    shown: bool,
    /// What it cites.
    sources: Vec<WebSource>,
}

enum Item {
    Message,
    Reasoning,
    FunctionCall { id: Option<String>, name: String, arguments: String },
}

impl ReadReply for ResponsesReply {
    fn read(&mut self, mut event: Value, events: &mut Vec<Event>) -> Result<(), Fault> {
        if event.get("object").is_some_and(|object| object == "response") {
            let kind = str_of(&event, "status").to_owned();
            event = json!({ "type": format!("response.{kind}"), "response": event });
        }
        let kind = text_of(&mut event, "type").ok_or(Fault::Foreign("an event without a type"))?;
        let Some(kind) = kind.strip_prefix("response.") else { return Ok(()) };
        let index = event.get("output_index").and_then(Value::as_u64);
        match kind {
            "output_item.added" => self.begin(index, take(&mut event, "item"), events)?,
            "output_item.done" => self.finish(index, take(&mut event, "item"), events)?,
            "completed" | "incomplete" => {
                let mut response = take(&mut event, "response");
                let mut outcome = Ok(());
                if let Value::Array(items) = take(&mut response, "output") {
                    for (index, item) in (0..).map(Some).zip(items) {
                        if kind == "completed" && !self.is_done(index) {
                            outcome = outcome.and(self.finish(index, item, events));
                        }
                    }
                }
                let stop = self.stop(kind, response.pointer("/incomplete_details/reason"), events);
                let usage = response.get("usage").and_then(|usage| COUNTS.read(usage, Usage::default()));
                events.extend(usage.map(Event::Usage));
                events.push(Event::Finished(stop));
                outcome?;
            }
            "failed" => {
                let error = event.pointer_mut("/response/error").map(Value::take).unwrap_or_default();
                return Err(Fault::Error(json!({ "error": error })));
            }
            kind => self.extend(kind, index, event, events)?,
        }
        Ok(())
    }

    fn end(&mut self, is_said: bool, events: &mut Vec<Event>) -> Result<(), Fault> {
        if is_said {
            let stop = self.stop("completed", None, events);
            events.push(Event::Finished(stop));
        }
        Ok(())
    }
}

impl ResponsesReply {
    /// Whether the item at a place has come already. Of items without a place the count says it.
    fn is_done(&self, index: Option<u64>) -> bool {
        let unplaced = self.done.iter().filter(|done| done.is_none()).count() as u64;
        self.done.contains(&index) || index.is_some_and(|index| index < unplaced)
    }

    /// Begins an item; says what is wrong with one that cannot be read.
    fn begin(&mut self, index: Option<u64>, mut item: Value, events: &mut Vec<Event>) -> Result<(), &'static str> {
        let kind = text_of(&mut item, "type").ok_or("an item without a type")?;
        let item = match kind.as_str() {
            "message" => Item::Message,
            "reasoning" => Item::Reasoning,
            "function_call" => {
                let name = text_of(&mut item, "name").ok_or("a function call without a name")?;
                Item::FunctionCall { id: text_of(&mut item, "call_id"), name, arguments: String::new() }
            }
            other => {
                // It is only told of here: it counts once it is complete.
                events
                    .extend(hosted::name(other).map(|name| Event::ToolUseProgress { name: name.to_owned(), bytes: 0 }));
                return Ok(());
            }
        };
        self.close(events);
        match &item {
            Item::Message => {}
            Item::Reasoning => events.push(Event::ThinkingStarted),
            Item::FunctionCall { name, .. } => events.push(Event::ToolUseProgress { name: name.clone(), bytes: 0 }),
        }
        self.open = Some(Open { index, item, shown: false, sources: Vec::new() });
        Ok(())
    }

    /// Takes a piece of the open item; says so when that is of another kind.
    fn extend(
        &mut self,
        kind: &str,
        index: Option<u64>,
        mut event: Value,
        events: &mut Vec<Event>,
    ) -> Result<(), &'static str> {
        let needed = match kind {
            "output_text.delta" | "refusal.delta" => Some("message"),
            "reasoning_summary_text.delta" | "reasoning_text.delta" => Some("reasoning"),
            _ => None,
        };
        let is_open = |open: &Open| index.is_none() || open.index.is_none() || open.index == index;
        if let Some(kind) = needed
            && !self.open.as_ref().is_some_and(|open| is_open(open) && open.item.kind() == kind)
        {
            self.begin(index, json!({ "type": kind }), events)?;
        }
        let mut open = self.open.as_mut().filter(|open| is_open(open));
        let delta = text_of(&mut event, "delta").unwrap_or_default();
        let shown = open.as_ref().is_some_and(|open| open.shown);
        if let Some(open) = open.as_mut().filter(|_| kind.ends_with(".delta")) {
            open.shown |= !delta.is_empty();
        }
        match (kind, open.as_mut().map(|open| &mut open.item)) {
            ("output_text.delta", Some(Item::Message)) => push_text(delta, events),
            ("refusal.delta", Some(Item::Message)) => {
                self.refused = true;
                push_text(delta, events);
            }
            ("output_text.annotation.added", _) => {
                if let Some(open) = open {
                    hosted::cite(&take(&mut event, "annotation"), &mut open.sources);
                }
            }
            ("reasoning_summary_part.added", Some(Item::Reasoning)) if shown => {
                push_thinking(PART_BREAK.to_owned(), events);
            }
            ("reasoning_summary_part.added", Some(Item::Reasoning)) => {}
            ("reasoning_summary_text.delta" | "reasoning_text.delta", Some(Item::Reasoning)) => {
                push_thinking(delta, events);
            }
            ("function_call_arguments.delta", Some(Item::FunctionCall { name, arguments, .. })) => {
                arguments.push_str(&delta);
                events.push(Event::ToolUseProgress { name: name.clone(), bytes: arguments.len() });
            }
            ("function_call_arguments.done", Some(Item::FunctionCall { arguments, .. })) => {
                *arguments = text_of(&mut event, "arguments").ok_or("the end of arguments without arguments")?;
            }
            ("function_call_arguments.delta" | "function_call_arguments.done", _) => {
                return Err("a delta for a function call that is not open");
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends an item. One that was never begun comes whole.
    fn finish(&mut self, index: Option<u64>, mut item: Value, events: &mut Vec<Event>) -> Result<(), &'static str> {
        self.done.push(index);
        if let Some(result) = hosted::events(&item)? {
            events.extend(result);
            return Ok(());
        }
        let kind = str_of(&item, "type").to_owned();
        let is_open =
            |open: &Open| (open.index == index || open.index.is_none() || index.is_none()) && open.item.kind() == kind;
        if !self.open.as_ref().is_some_and(is_open) {
            self.begin(index, item.clone(), events)?;
        }
        // What has not begun now is none of ours.
        let Some(mut open) = self.open.take_if(|open| is_open(open)) else { return Ok(()) };
        match open.item {
            Item::Message => {
                let refusals = texts(&item, "content", "refusal");
                self.refused |= !refusals.is_empty();
                if !open.shown {
                    push_text(texts(&item, "content", "text").concat() + &refusals.concat(), events);
                }
                hosted::cite_all(&item, &mut open.sources);
                hosted::push_citations(open.sources, events);
            }
            Item::Reasoning => {
                if !open.shown {
                    let parts = [texts(&item, "summary", "text"), texts(&item, "content", "text")].concat();
                    push_thinking(parts.join(PART_BREAK), events);
                }
                events.push(Event::ThinkingFinished { signature: reasoning::sign(&item) });
            }
            Item::FunctionCall { id, name, arguments } => {
                let id = text_of(&mut item, "call_id").or(id).unwrap_or_else(|| made_up_id("call").0);
                let all = text_of(&mut item, "arguments").filter(|all| !all.is_empty()).unwrap_or(arguments);
                events.push(call(id, name, all));
            }
        }
        Ok(())
    }

    /// Ends the open item, of which nothing more is to come.
    fn close(&mut self, events: &mut Vec<Event>) {
        let Some(open) = self.open.take() else { return };
        self.done.push(open.index);
        hosted::push_citations(open.sources, events);
        match open.item {
            Item::Reasoning => events.push(Event::ThinkingFinished { signature: None }),
            Item::FunctionCall { id, name, arguments } => {
                events.push(call(id.unwrap_or_else(|| made_up_id("call").0), name, arguments));
            }
            Item::Message => {}
        }
    }

    /// Why the reply ends.
    fn stop(&mut self, kind: &str, reason: Option<&Value>, events: &mut Vec<Event>) -> StopReason {
        self.close(events);
        match reason.and_then(Value::as_str) {
            _ if kind == "completed" && self.refused => StopReason::Refusal,
            _ if kind == "completed" => StopReason::EndTurn,
            Some(word) => stop_reason(word, ""),
            None => StopReason::Other("incomplete, without a reason".to_owned()),
        }
    }
}

impl Item {
    /// The name in the API.
    fn kind(&self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Reasoning => "reasoning",
            Self::FunctionCall { .. } => "function_call",
        }
    }
}

fn call(id: String, name: String, arguments: String) -> Event {
    Event::ToolUse { id: CallId(id), name, input: tool_input(arguments, Value::Null) }
}
