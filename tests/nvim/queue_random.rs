//! A user who queues, throws away, takes back, cancels and saves, in any order: each text is sent at most once,
//! what was not queued never, and nothing is lost.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    chat::{Chat, Setup, said},
    http::Gate,
    queue::{held, user_texts},
};

/// What is where.
const LOOK: &str = "local chat = vim.fn.bufnr('notes.chat')
    local function text(buf) return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n') end
    local drafts, below = {}, {}
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if vim.bo[buf].filetype == 'flemma_queue' then drafts[#drafts + 1] = text(buf) end
    end
    for _, line in ipairs(require('flemma.native').call('state', chat, 'outbox')) do
      for _, chunk in ipairs(line) do below[#below + 1] = chunk.text end
    end
    return {
      chat = text(chat),
      draft = table.concat(drafts, '\\n'),
      queued = table.concat(below, ' '),
      is_open = vim.bo.filetype == 'flemma_queue',
      is_locked = require('flemma.buffer.lock').is_locked(chat),
    }";

/// Goes to the conversation's window.
const LEAVE: &str = "vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('notes.chat'))[1])";

struct User {
    chat: Chat,
    gates: Vec<Gate>,
    seed: u64,
    /// How many texts were written, and how many commands given.
    texts: usize,
    commands: usize,
    /// What the user has sent or queued, and what they have thrown away.
    meant: BTreeSet<String>,
    discarded: BTreeSet<String>,
    log: Vec<String>,
}

impl User {
    fn new(seed: u64) -> Self {
        let gates: Vec<Gate> = (0..120).map(|_| Gate::new()).collect();
        let mut chat = Chat::start(&Setup::default(), gates.iter().map(held));
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the words", |nvim| nvim.text().contains("first words"));
        let (meant, discarded) = (BTreeSet::new(), BTreeSet::new());
        Self { chat, gates, seed, texts: 0, commands: 0, meant, discarded, log: Vec::new() }
    }

    /// A number below `end`, by xorshift.
    fn choose(&mut self, end: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % end
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!("U{}u", self.texts)
    }

    fn look(&mut self) -> Value {
        self.chat.nvim.lua(LOOK, &[])
    }

    /// Presses keys, and waits until Neovim has dealt with them.
    fn press(&mut self, keys: &str) {
        self.commands += 1;
        let number = self.commands;
        self.chat.nvim.input(&format!("{keys}<C-\\><C-n>:let g:done = {number}<CR>"));
        self.chat.nvim.wait_for(keys, |nvim| nvim.lua("return vim.g.done", &[]) == number);
    }

    /// The texts in a text.
    fn texts_in(&self, text: &Value) -> BTreeSet<String> {
        let text = text.as_str().unwrap();
        (1..=self.texts).map(|number| format!("U{number}u")).filter(|token| text.contains(token)).collect()
    }

    fn step(&mut self) {
        self.chat.nvim.lua(LEAVE, &[]);
        let before = self.look();
        let is_locked = before["is_locked"] == json!(true);
        let has_draft = !before["draft"].as_str().unwrap().trim().is_empty();
        let choice = self.choose(12);
        self.log.push(format!("{choice}{}", if is_locked { " at work" } else { "" }));
        match choice {
            0 | 1 => {
                let text = self.text();
                self.meant.insert(text.clone());
                self.press(&format!(":Flemma queue {text}<CR>"));
            }
            2..=5 if is_locked => {
                let text = self.text();
                let key = if choice < 5 { "i" } else { "o" };
                self.press(&format!("{key} {text}"));
                let written = self.look();
                assert!(
                    self.texts_in(&written["draft"]).contains(&text),
                    "{text} is not in {written:#} after {:?}",
                    self.log
                );
                match self.choose(4) {
                    0 | 1 => {
                        self.meant.extend(self.texts_in(&written["draft"]));
                        let keys = if self.choose(2) == 0 { ":wq<CR>" } else { ":wall | q<CR>" };
                        self.press(keys);
                    }
                    2 => self.press(":q<CR>"),
                    _ => {
                        self.discarded.extend(self.texts_in(&written["draft"]));
                        self.press(":q!<CR>");
                    }
                }
            }
            // Otherwise it would become longer than what is shown of a message.
            6 if !has_draft => self.press(":silent Flemma unqueue<CR>"),
            7 if !has_draft => self.press(":silent wall<CR>"),
            8 if is_locked => {
                // An interrupt may take the keys behind it with it.
                self.chat.nvim.input("<C-c>");
                self.chat.nvim.wait_for("the end", |nvim| nvim.lua(LOOK, &[])["is_locked"] == false);
            }
            9 | 10 => {
                let count = self.chat.server.requests().len();
                self.gates[count - 1].open();
                // Until the turn has ended, or the next one has begun. The one that ends also has these words last.
                let (nvim, server) = (&mut self.chat.nvim, &self.chat.server);
                nvim.wait_for("the next pause", |nvim| {
                    let text = nvim.lua(LOOK, &[]);
                    let is_next = server.requests().len() > count;
                    text["is_locked"] == false || is_next && text["chat"].as_str().unwrap().ends_with("first words")
                });
            }
            11 if !is_locked => {
                self.meant.extend(self.texts_in(&before["chat"]));
                self.press("G<C-]>");
            }
            _ => {}
        }
    }

    fn check(&mut self) {
        let now = self.look();
        for number in 1..=self.texts {
            let token = format!("U{number}u");
            let count = |part: &str| now[part].as_str().unwrap().matches(&token).count();
            let (chat, draft, queued) = (count("chat"), count("draft"), count("queued"));
            let is_once = match (chat, draft, queued) {
                (1, 0, 0) | (0, 1, 0) | (0, 0, 1) => true,
                (0, 0, 0) => self.discarded.contains(&token),
                _ => false,
            };
            assert!(is_once, "{token} is {chat}, {draft}, {queued} times after {:?}\n{now:#}", self.log);
        }
        for request in 0..self.chat.server.requests().len() {
            let sent = user_texts(&self.chat.messages(request)).join("\n");
            for number in 1..=self.texts {
                let token = format!("U{number}u");
                let times = sent.matches(&token).count();
                assert!(times <= 1, "{token} was sent twice after {:?}", self.log);
                assert!(times == 0 || self.meant.contains(&token), "{token} was sent unasked after {:?}", self.log);
            }
        }
        let told = said(&mut self.chat.nvim);
        assert!(!told.contains("traceback") && !told.contains("E5108") && !told.contains("internal error"), "{told}");
    }
}

#[test]
fn each_text_is_sent_at_most_once_and_only_if_queued() {
    for seed in [0x9E37_79B9, 0x85EB_CA6B, 0xC2B2_AE35, 0x27D4_EB2F] {
        let mut user = User::new(seed);
        for _ in 0..100 {
            user.step();
            user.check();
        }
    }
}
