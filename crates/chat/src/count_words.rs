//! Finding out whether the user has said something before.

use super::{Document, Speaker, Text, escape::escape};

impl Document {
    /// How often the user's messages say these words, as [`super::append_words`] writes them: in whole lines, and in the
    /// message with the number `from` (from 0) or a later one. It reads those messages.
    #[must_use]
    pub fn count_words(&self, words: &str, from: usize, text: &dyn Text) -> usize {
        let words: Vec<_> = words.split('\n').map(escape).collect();
        let mut found = 0;
        for message in self.messages().iter().skip(from).filter(|message| message.role == Speaker::You) {
            let mut lines = Vec::new();
            text.read(message.range(), &mut |line| lines.push(line.to_owned()));
            found += lines.windows(words.len()).filter(|lines| lines.iter().eq(&words)).count();
        }
        found
    }
}
