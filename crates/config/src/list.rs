//! A list that is changed step by step: `flemma.opt.tools` and `flemma.opt.tools.auto_approve`.
//!
//! The operations are those that Vim users know from `:set`: assign, append (`+`), prepend (`^`), remove (`-`). A name
//! is in the list once: adding it again moves it. What was removed is remembered, since a name may also come from
//! a preset in the list, from which only the remembered removal can keep it out.

/// A list, and the names that were taken out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOption {
    items: Vec<String>,
    removed: Vec<String>,
    is_from_default: bool,
}

impl ListOption {
    /// A list of these names, of which nothing was removed. A name that comes twice is kept where it came last.
    pub fn new(items: impl IntoIterator<Item = String>) -> Self {
        let mut list = Self::default();
        list.append(items);
        list
    }

    /// The same, as the default that a file begins with.
    pub fn of_default(items: impl IntoIterator<Item = String>) -> Self {
        Self { is_from_default: true, ..Self::new(items) }
    }

    /// Whether it began as the default, and was only added to and taken from since.
    pub fn is_from_default(&self) -> bool {
        self.is_from_default
    }

    /// The names, in their order.
    pub fn items(&self) -> &[String] {
        &self.items
    }

    /// The names that were removed and not added again, in the order of their removal.
    pub fn removed(&self) -> &[String] {
        &self.removed
    }

    /// Forgets everything, the removals too, and starts anew with these names.
    pub fn set(&mut self, items: impl IntoIterator<Item = String>) {
        *self = Self::new(items);
    }

    /// Puts names at the end, in their order. One that is in the list moves there.
    pub fn append(&mut self, items: impl IntoIterator<Item = String>) {
        for item in items {
            self.forget(&item);
            self.items.push(item);
        }
    }

    /// Puts names at the front, in their order. One that is in the list moves there.
    pub fn prepend(&mut self, items: impl IntoIterator<Item = String>) {
        let front = Self::new(items).items;
        for item in &front {
            self.forget(item);
        }
        self.items.splice(0..0, front);
    }

    /// Takes names out, also of the presets in the list. It is not an error if they are not in it.
    pub fn remove(&mut self, items: impl IntoIterator<Item = String>) {
        for item in items {
            self.forget(&item);
            self.removed.push(item);
        }
    }

    /// Changes the list by an operation that is named as in JSON.
    pub fn change(&mut self, operation: &str, names: Vec<String>) {
        match operation {
            "append" => self.append(names),
            "prepend" => self.prepend(names),
            "remove" => self.remove(names),
            _ => self.set(names),
        }
    }

    /// Neither in the list nor removed.
    fn forget(&mut self, item: &str) {
        self.items.retain(|other| other != item);
        self.removed.retain(|other| other != item);
    }
}
