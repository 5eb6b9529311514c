//! A conversation in a real editor, against a scripted server.

use std::path::Path;

use serde_json::Value;

use super::{
    anthropic::Stream,
    http::{Reply, Server},
    support::{Nvim, Options},
};

/// The key that the editor is given. It must appear nowhere but in the request's header.
pub const KEY: &str = "sk-test-0123456789";

/// A server and an editor that talks to it.
pub struct Chat {
    /// The editor, with `notes.chat` open.
    pub nvim: Nvim,
    /// The provider.
    pub server: Server,
}

/// How a conversation begins.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The text of `notes.chat`; `None` for a file that does not exist.
    pub text: Option<&'a str>,
    /// More files.
    pub files: &'a [(&'a str, &'a str)],
    /// Lua fields for `setup`, after provider and address.
    pub options: &'a str,
    /// Lua that runs after `setup`.
    pub lua: &'a str,
    /// Variables of the environment: the key by default.
    pub environment: &'a [(&'a str, &'a str)],
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self {
            text: Some("@You:\nHello\n"),
            files: &[],
            options: "",
            lua: "",
            environment: &[("ANTHROPIC_API_KEY", KEY)],
        }
    }
}

impl Chat {
    /// Opens `notes.chat` in an editor that talks to a server with these replies.
    pub fn start(setup: &Setup<'_>, replies: impl IntoIterator<Item = Reply>) -> Self {
        let server = Server::start(replies);
        let init = format!("{}\n{}", init(&server.base_url(), setup.options), setup.lua);
        let mut files = setup.files.to_vec();
        files.extend(setup.text.map(|text| ("notes.chat", text)));
        let nvim = Nvim::start(&Options {
            files: &files,
            arguments: &["notes.chat"],
            init: &init,
            environment: setup.environment,
            screen: Some((100, 40)),
        });
        Self { nvim, server }
    }

    /// Another editor of the same user, with this file: what is kept between sessions is that of `before`. `options` and `lua`
    /// are those of [`Setup`].
    pub fn another(
        before: &Self,
        file: &Path,
        (options, lua): (&str, &str),
        replies: impl IntoIterator<Item = Reply>,
    ) -> Self {
        let server = Server::start(replies);
        let init = init(&server.base_url(), options) + "\n" + lua;
        let state = before.nvim.folder("state");
        let nvim = Nvim::start(&Options {
            arguments: &["-n", file.to_str().unwrap()],
            init: &init,
            environment: &[("ANTHROPIC_API_KEY", KEY), ("XDG_STATE_HOME", state.to_str().unwrap())],
            ..Options::default()
        });
        Self { nvim, server }
    }

    /// Waits until the buffer is unlocked and the plugin is idle. What the keys before wanted is done then: right after a file
    /// was opened, they wait until it is locked and its journal is read. The file may be replaced then, since no write is
    /// under way.
    pub fn wait_until_idle(&mut self) {
        let idle = "local buf = vim.api.nvim_get_current_buf()
            return vim.bo.modifiable and require('flemma.native').call('state', buf, 'at_rest')
              and not require('flemma.buffer.saving').is_writing(buf)";
        self.nvim.wait_for("the conversation to rest", |nvim| nvim.lua(idle, &[]) == true && spinner(nvim).is_empty());
    }

    /// Sends, and waits until the buffer contains this text and the plugin is idle.
    pub fn send_until(&mut self, text: &str) {
        self.nvim.input("<C-]>");
        self.nvim.wait_for(&format!("`{text}`"), |nvim| nvim.text().contains(text));
        self.wait_until_idle();
    }

    /// Waits until the buffer has exactly this text.
    pub fn wait_for_text(&mut self, text: &str) {
        self.nvim.wait_for_value("the text", &text.to_owned(), Nvim::text);
    }

    /// Puts the cursor on the first line that contains `text`, in one step: a result may arrive at any time, and move it.
    pub fn go_to(&mut self, text: &str) {
        let find = "for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, true)) do
              if line:find(..., 1, true) then
                vim.api.nvim_win_set_cursor(0, { number, 0 })
                return true
              end
            end
            return false";
        if self.nvim.lua(find, &[text.into()]) != true {
            self.nvim.fail(&format!("no line contains `{text}`"));
        }
    }

    /// Counts the questions of `vim.ui.select`, and keeps the prompt and the choices of the last one. `choose` in Lua answers
    /// it.
    pub fn record_questions(&mut self) {
        self.nvim.lua(
            "vim.g.asked = 0
             vim.ui.select = function(items, opts, choose)
               vim.g.asked = vim.g.asked + 1
               vim.g.prompt = opts.prompt
               vim.g.items = vim.tbl_map(opts.format_item, items)
               _G.choose = function(n) choose(items[n], n) end
             end",
            &[],
        );
    }

    /// How many questions were asked.
    pub fn questions(&mut self) -> u64 {
        self.nvim.lua("return vim.g.asked", &[]).as_u64().unwrap()
    }

    /// Waits until so many questions were asked, and gives the prompt of the last one.
    pub fn wait_for_question(&mut self, nth: u64) -> String {
        self.nvim.wait_for("the question", |nvim| nvim.lua("return vim.g.asked", &[]) == nth);
        self.nvim.lua("return vim.g.prompt", &[]).as_str().unwrap().to_owned()
    }

    /// The messages of the `n`th request that arrived, from 0.
    pub fn messages(&self, n: usize) -> Value {
        self.server.wait_for_requests(n + 1)[n].json()["messages"].clone()
    }
}

/// The `init.lua` of an editor that talks to `base_url`.
pub fn init(base_url: &str, options: &str) -> String {
    format!(
        "require('flemma').setup({{ provider = 'anthropic', model = 'claude-test', \
         parameters = {{ anthropic = {{ base_url = '{base_url}' }} }}, {options} }})"
    )
}

/// The virtual lines of a namespace from top to bottom, each with the number (from 1) of the line above it.
pub fn virtual_lines(nvim: &mut Nvim, namespace: &str) -> Vec<(u64, String)> {
    let found = nvim.lua(
        "local found = {}
         local namespace = vim.api.nvim_create_namespace(...)
         for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
           for _, line in ipairs(mark[4].virt_lines or {}) do
             local text = ''
             for _, chunk in ipairs(line) do text = text .. chunk[1] end
             found[#found + 1] = { mark[2] + 1, text }
           end
           for _, chunk in ipairs(mark[4].virt_text or {}) do
             found[#found + 1] = { mark[2] + 1, chunk[1] }
           end
         end
         return found",
        &[namespace.into()],
    );
    found
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| (item[0].as_u64().unwrap_or(0), item[1].as_str().unwrap_or_default().to_owned()))
        .collect()
}

/// The previews on the screen.
pub fn previews(nvim: &mut Nvim) -> Vec<(u64, String)> {
    virtual_lines(nvim, "flemma.previews")
}

/// The lines with the keys that decide about calls.
pub fn decision_keys(nvim: &mut Nvim) -> Vec<(u64, String)> {
    virtual_lines(nvim, "flemma.keys")
}

/// The texts of the spinners.
pub fn spinner(nvim: &mut Nvim) -> Vec<(u64, String)> {
    virtual_lines(nvim, "flemma.live")
}

/// All messages on one line, since long messages are split into lines.
pub fn said(nvim: &mut Nvim) -> String {
    nvim.messages().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A whole reply of prose.
pub fn prose(pieces: &[&str]) -> Reply {
    reply(&Stream::new().text(pieces).end("end_turn"))
}

/// A whole reply.
pub fn reply(stream: &Stream) -> Reply {
    stream.events().iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str()))
}

/// A reply with one call of a tool.
pub fn call(id: &str, tool: &str, input: &Value) -> Reply {
    reply(&Stream::new().tool_use(id, tool, &[&input.to_string()]).end("tool_use"))
}
