//! The front matter of instructions, as it is found in the wild.
//!
//! It looks like YAML, and often is not: `description: Use when: the user asks` has a colon too many, and is meant as it is read here.
//! A value goes to the end of its line, or is what is indented below it.

/// The values of some keys, and the text below.
pub(super) struct FrontMatter<'a> {
    entries: Vec<(&'a str, String)>,
    /// The text without the front matter.
    pub(super) body: &'a str,
}

impl<'a> FrontMatter<'a> {
    /// Reads it. A text without it has no entries.
    pub(super) fn read(text: &'a str) -> Self {
        let none = Self { entries: Vec::new(), body: text };
        let Some(inside) = text.strip_prefix("---").filter(|rest| rest.starts_with(['\n', '\r'])) else { return none };
        let mut entries: Vec<(&str, String)> = Vec::new();
        let mut at = text.len() - inside.len();
        for line in inside.split_inclusive('\n') {
            at += line.len();
            let line = line.trim_end();
            if line == "---" || line == "..." {
                return Self { entries, body: &text[at..] };
            }
            let is_inside = line.starts_with([' ', '\t', '-']);
            match (line.split_once(':').filter(|_| !is_inside), entries.last_mut()) {
                (Some((key, value)), _) => entries.push((key.trim(), plain(value).to_owned())),
                (None, Some((_, value))) => {
                    let more = plain(line.trim().trim_start_matches("- "));
                    if !value.is_empty() && !more.is_empty() {
                        value.push(' ');
                    }
                    value.push_str(more);
                }
                (None, None) => {}
            }
        }
        // It has no end, so it is none.
        none
    }

    /// The value of a key; `None` where it is not there or empty.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let found = self.entries.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Whether a key says `true`.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

/// A value without its quotes, and without the sign of a block.
fn plain(value: &str) -> &str {
    let value = value.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    quoted.unwrap_or(if matches!(value, ">" | ">-" | "|" | "|-" | ">+" | "|+") { "" } else { value })
}

#[cfg(test)]
mod tests {
    use super::FrontMatter;

    #[test]
    fn front_matter_is_read_as_people_write_it() {
        let cases = [
            ("---\ndescription: Use when: asked\n---\nBody\n", "Use when: asked"),
            ("---\r\ndescription: \"Quoted\"\r\n---\r\nBody\n", "Quoted"),
            ("---\nname: a\ndescription: >-\n  Two\n  lines\nlicense: MIT\n---\nBody\n", "Two lines"),
            ("---\ndescription:\n  Below it\n---\nBody\n", "Below it"),
            ("---\ndescription: One\n  goes on\n---\nBody\n", "One goes on"),
        ];
        for (text, description) in cases {
            let read = FrontMatter::read(text);
            assert_eq!((read.get("description"), read.body), (Some(description), "Body\n"), "{text}");
        }
        for text in ["Body\n", "---\ndescription: no end\n", "----\ndescription: a rule\n---\n", ""] {
            let read = FrontMatter::read(text);
            assert_eq!((read.get("description"), read.body), (None, text));
        }
    }
}
