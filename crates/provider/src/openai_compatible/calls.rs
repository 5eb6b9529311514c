//! Puts the calls of a reply together from the pieces in which a server sends them.
//!
//! OpenAI sends a call in pieces with an `index`, the id and the name in the first one. Others send a call in one
//! piece, leave out the index (<https://github.com/ollama/ollama/issues/7881>), give every call the index 0, leave
//! out the id or leave it empty, send another one in each piece, repeat id and name in every piece, send the arguments as an
//! object, or leave out the `function` around both. So a piece belongs to the call with its index or its id; and where that
//! cannot be told, a name begins a new call as soon as the call before it is complete JSON.
//!
//! The arguments are the pieces one after the other. Where that is no JSON, the pieces may be one object that comes again, or
//! that grows. Two different objects are no arguments: nobody knows which one the model meant.

use serde_json::{Deserializer, Map, Value};

use super::opaque;
use crate::{
    Request,
    call_input::{UNKNOWN, take_input, tool_input},
    reply::{NewIds, take, text_of},
};
use flemma_model::{Event, ToolInput};

/// The end of a call in the form that many models were taught.
const CLOSE: &str = "</tool_call>";

/// The calls of one reply.
#[derive(Default)]
pub(super) struct PartialCalls {
    calls: Vec<Call>,
    /// The tools on offer.
    names: Vec<String>,
    /// Whether some arguments were neither text nor an object.
    is_odd: bool,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    /// The pieces of the arguments.
    arguments: Vec<String>,
    /// What may be its input, if it has no arguments.
    unknown: Map<String, Value>,
    /// What the host wants back with it.
    extra: Value,
}

impl Call {
    /// Whether nothing can be missing any more.
    fn is_complete(&self) -> bool {
        serde_json::from_str::<Value>(&self.arguments.concat()).is_ok()
    }

    /// The arguments, as far as it is plain which ones are meant.
    fn input(&self) -> ToolInput {
        let all = self.arguments.concat();
        let text = all.trim_end().strip_suffix(CLOSE).unwrap_or(&all);
        let input = tool_input(text.to_owned(), self.unknown.clone().into());
        if let ToolInput::Json(_) = input {
            return input;
        }
        let again = Deserializer::from_str(text).into_iter::<Map<String, Value>>().collect::<Result<Vec<_>, _>>();
        let again = again.ok().and_then(|mut objects| {
            objects.sort_by_key(Map::is_empty);
            let first = objects.first()?;
            objects.iter().all(|other| other.is_empty() || other == first).then(|| first.clone())
        });
        let grows = self.arguments.windows(2).all(|pair| pair[1].starts_with(&pair[0]));
        let last = self.arguments.last().filter(|_| grows).and_then(|last| serde_json::from_str(last).ok());
        again.or(last).map_or(input, |object| ToolInput::Json(object.into()))
    }
}

impl PartialCalls {
    /// The calls of the reply to a request.
    pub fn of(request: &Request) -> Self {
        Self { names: request.tools.iter().map(|tool| tool.name.clone()).collect(), ..Self::default() }
    }

    pub const fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    fn is_offered(&self, name: &str) -> bool {
        self.names.iter().any(|offered| offered == name)
    }

    /// Takes one piece of one call, an element of `delta.tool_calls`.
    pub fn take(&mut self, mut piece: Value, events: &mut Vec<Event>) {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = text_of(&mut piece, "id").unwrap_or_default();
        let extra = take(&mut piece, opaque::OF_CALL);
        let mut function = take(&mut piece, "function");
        if let (Value::Object(inner), Value::Object(outer)) = (&mut function, &mut piece) {
            outer.append(inner);
        }
        let name = text_of(&mut piece, "name").unwrap_or_default();
        let (arguments, unknown) = match take_input(&mut piece) {
            (Value::Object(fields), false) => (String::new(), fields),
            (Value::String(text), _) => (text, Map::new()),
            (Value::Null, _) => (String::new(), Map::new()),
            (other, _) => {
                self.is_odd |= !other.is_object();
                (other.to_string(), Map::new())
            }
        };
        let at = self.find(index, &id, &name, &arguments);
        let is_rest = self.is_rest(at, &name);
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() || is_rest {
            call.name.push_str(&name);
        }
        if call.extra.is_null() {
            call.extra = extra;
        }
        for (name, more) in unknown {
            match (call.unknown.get_mut(&name), more) {
                (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
                (_, more) => drop(call.unknown.insert(name, more)),
            }
        }
        call.arguments.extend(Some(arguments).filter(|arguments| !arguments.is_empty()));
        let bytes = call.arguments.iter().map(String::len).sum();
        events.push(Event::ToolUseProgress { name: call.name.clone(), bytes });
    }

    /// Whether a name is the rest of the one that a call has so far.
    fn is_rest(&self, at: usize, name: &str) -> bool {
        let begun = &self.calls[at].name;
        !self.is_offered(begun) && self.is_offered(&format!("{begun}{name}"))
    }

    /// The place of the call that a piece belongs to, begun if it is the first of it.
    fn find(&mut self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> usize {
        let known = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)),
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            None => self.calls.len().checked_sub(1),
        };
        let same = known.filter(|&at| {
            let call = &self.calls[at];
            let other_id = !id.is_empty() && !call.id.is_empty() && id != call.id && !name.is_empty();
            let is_bare = id.is_empty() && call.id.is_empty() && !name.is_empty() && !call.name.is_empty();
            let other_name = name != call.name && !self.is_rest(at, name);
            let anew = is_bare && (other_name || (!arguments.is_empty() && call.is_complete()));
            !other_id && !anew
        });
        same.unwrap_or_else(|| {
            self.calls.push(Call { index, ..Call::default() });
            self.calls.len() - 1
        })
    }

    /// The calls, complete and in the order in which they began, each behind what `host` wants back with it; and what is wrong
    /// with one that is left out. The reply may be cut off in one of them.
    pub fn finish(&mut self, host: &str, ids: &mut NewIds, is_cut: bool) -> (Vec<Event>, Result<(), &'static str>) {
        let mut outcome = if self.is_odd { Err("arguments that are neither text nor an object") } else { Ok(()) };
        let mut events = Vec::new();
        // Of a call without arguments nothing is lost.
        let calls = std::mem::take(&mut self.calls).into_iter().filter(|call| !is_cut || !call.arguments.is_empty());
        for call in calls {
            let input = call.input();
            if call.arguments.is_empty() && !call.unknown.is_empty() {
                outcome = Err(UNKNOWN);
            }
            let Call { id, name, extra, .. } = call;
            if name.is_empty() {
                outcome = Err("a tool call without a name");
                continue;
            }
            if !extra.is_null() {
                events.extend(opaque::mark(opaque::data(opaque::OF_CALL, &extra, host)));
            }
            events.push(Event::ToolUse { id: ids.take(id, "call"), name, input });
        }
        (events, outcome)
    }
}
