//! The ids of calls in a request.
//!
//! A document pairs a call with its result inside one turn, so the same id may come again in a later turn: models
//! count from one again, servers give every call the same id, users copy a passage. Vendors refuse a request in which
//! an id comes twice. So each call gets an id of its own here, and each result gets the id of the call that it answers.
//!
//! An id is kept as it is where it can be: the first call that has it keeps it, a later one gets a number behind it.
//! The id of a call depends only on what comes before it, so a conversation that grows keeps the ids that it
//! has, and the vendor finds its cached prefix again.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
};

use serde_json::Value;

use flemma_model::{CallId, Role};

/// Puts an id into the letters that a vendor takes.
type Form = fn(&CallId) -> Cow<'_, str>;

/// Makes another id of one that is taken, with a number, and of at most so many bytes.
type Numbered = fn(&str, usize, usize) -> String;

/// A call as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentCall {
    /// Its id in this request.
    pub id: String,
    /// How many calls come before it.
    pub nth: usize,
}

/// Gives out the ids of one request, in the order of the conversation.
pub(super) struct CallIds<'a> {
    form: Form,
    numbered: Numbered,
    limit: usize,
    taken: HashSet<String>,
    /// The last number that was put behind an id.
    numbers: HashMap<String, usize>,
    calls: usize,
    /// Whether the message before was the user's.
    after_user: bool,
    /// The calls of this turn that have no result yet, by their ids in the document.
    open: HashMap<&'a CallId, VecDeque<SentCall>>,
    /// The same for calls that the provider ran, whose results may come in a later turn.
    hosted: HashMap<&'a str, Vec<String>>,
}

impl<'a> CallIds<'a> {
    /// Ids that `form` writes, of at most `limit` bytes.
    pub fn new(form: Form, limit: usize) -> Self {
        Self {
            form,
            numbered: with_number,
            limit,
            taken: HashSet::new(),
            numbers: HashMap::new(),
            calls: 0,
            after_user: false,
            open: HashMap::new(),
            hosted: HashMap::new(),
        }
    }

    /// The same, where no number may be put behind an id as it is.
    pub fn numbered(self, numbered: Numbered) -> Self {
        Self { numbered, ..self }
    }

    /// The next message begins. A reply after a message of the user's begins a turn, and a result belongs to a call of
    /// its own turn.
    pub fn begin(&mut self, role: Role) {
        if role == Role::Assistant && self.after_user {
            self.open.clear();
        }
        self.after_user = role == Role::User;
    }

    /// The next call.
    pub fn call(&mut self, id: &'a CallId) -> SentCall {
        let sent = SentCall { id: self.unique((self.form)(id)), nth: self.calls };
        self.calls += 1;
        self.open.entry(id).or_default().push_back(sent.clone());
        sent
    }

    /// The call that the next result answers; `None` if there is none in its turn.
    pub fn answered(&mut self, id: &CallId) -> Option<SentCall> {
        self.open.get_mut(id)?.pop_front()
    }

    /// The id of the next result. One without a call gets an id that no call has.
    pub fn result(&mut self, id: &CallId) -> String {
        self.answered(id).map_or_else(|| self.unique((self.form)(id)), |sent| sent.id)
    }

    /// The id of the next call that the provider ran; `id` is the vendor's own, which needs no other form.
    pub fn hosted_call(&mut self, id: &'a str) -> String {
        let own = self.unique(Cow::Borrowed(id));
        self.hosted.entry(id).or_default().push(own.clone());
        own
    }

    /// The id of its result: it belongs to the nearest call before it.
    pub fn hosted_result(&mut self, id: &str) -> String {
        let own = self.hosted.get_mut(id).and_then(Vec::pop);
        own.unwrap_or_else(|| id.to_owned())
    }

    /// `id`, or another one with a number where it is taken.
    pub fn unique(&mut self, id: Cow<'_, str>) -> String {
        if !self.taken.contains(&*id) {
            self.taken.insert(id.to_string());
            return id.into_owned();
        }
        let number = self.numbers.entry(id.to_string()).or_insert(1);
        loop {
            *number += 1;
            let candidate = (self.numbered)(&id, *number, self.limit);
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// The id with a number behind it.
fn with_number(id: &str, number: usize, limit: usize) -> String {
    let end = format!("_{number}");
    let kept = id.floor_char_boundary(limit.saturating_sub(end.len()).min(id.len()));
    format!("{}{end}", &id[..kept])
}

/// The vendor's own block `raw`, with what `unique` makes of the id in its `field`.
pub(super) fn renamed<'a>(raw: &'a Value, field: &str, unique: impl FnOnce(&'a str) -> String) -> Value {
    let mut renamed = raw.clone();
    if let Some(id) = raw.get(field).and_then(Value::as_str) {
        renamed[field] = unique(id).into();
    }
    renamed
}
