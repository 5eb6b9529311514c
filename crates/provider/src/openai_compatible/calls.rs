//! Puts the calls of a reply together from the pieces in which a server sends them.
//!
//! OpenAI sends a call in pieces with an `index`, the id and the name in the first one. Others send a call in one
//! piece, leave out the index (<https://github.com/ollama/ollama/issues/7881>), give every call the index 0, leave
//! out the id or leave it empty, repeat id and name in every piece, or send the arguments as an object. So a piece
//! belongs to the call with its index or its id; and where that cannot be told, a name begins a new call as soon as
//! the call before it is complete JSON.

use serde_json::Value;

use super::opaque;
use crate::reply::{NewIds, take, text_of, tool_input};
use flemma_model::Event;

/// The calls of one reply.
#[derive(Default)]
pub(super) struct PartialCalls(Vec<Call>);

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// What the host wants back with it.
    extra: Value,
}

impl Call {
    /// Whether nothing can be missing any more.
    fn is_complete(&self) -> bool {
        serde_json::from_str::<Value>(&self.arguments).is_ok()
    }
}

impl PartialCalls {
    /// Takes one piece of one call, an element of `delta.tool_calls`.
    pub fn take(&mut self, mut piece: Value, events: &mut Vec<Event>) {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = text_of(&mut piece, "id").unwrap_or_default();
        let extra = take(&mut piece, opaque::OF_CALL);
        let mut function = take(&mut piece, "function");
        let name = text_of(&mut function, "name").unwrap_or_default();
        let arguments = match take(&mut function, "arguments") {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let call = self.find(index, &id, &name, &arguments);
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        if call.extra.is_null() {
            call.extra = extra;
        }
        call.arguments.push_str(&arguments);
        events.push(Event::ToolUseProgress { name: call.name.clone(), bytes: call.arguments.len() });
    }

    /// The call that a piece belongs to, begun if it is the first of it.
    fn find(&mut self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> &mut Call {
        let known = match index {
            Some(index) => self.0.iter().rposition(|call| call.index == Some(index)),
            None if !id.is_empty() => self.0.iter().rposition(|call| call.id == id),
            None => self.0.len().checked_sub(1),
        };
        let same = known.filter(|&at| {
            let call = &self.0[at];
            let other_id = !id.is_empty() && !call.id.is_empty() && id != call.id;
            let anew = id.is_empty() && !name.is_empty() && !arguments.is_empty() && call.is_complete();
            !other_id && !anew
        });
        let at = same.unwrap_or_else(|| {
            self.0.push(Call { index, ..Call::default() });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// The calls, complete and in the order in which they began, each behind what `host` wants back with it; and what is wrong
    /// with one that is left out. The reply may be cut off in one of them.
    pub fn finish(self, host: &str, ids: &mut NewIds, is_cut: bool) -> (Vec<Event>, Result<(), &'static str>) {
        let (mut events, mut outcome) = (Vec::new(), Ok(()));
        // Of a call without arguments nothing is lost.
        let calls = self.0.into_iter().filter(|call| !is_cut || !call.arguments.is_empty());
        for Call { id, name, arguments, extra, .. } in calls {
            if name.is_empty() {
                outcome = Err("a tool call without a name");
                continue;
            }
            if !extra.is_null() {
                events.extend(opaque::mark(opaque::data(opaque::OF_CALL, &extra, host)));
            }
            let input = tool_input(arguments, Value::Null);
            events.push(Event::ToolUse { id: ids.take(id, "call"), name, input });
        }
        (events, outcome)
    }
}
