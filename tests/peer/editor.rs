//! An editor that talks to the peer in one of the four protocols.

use std::time::{Duration, Instant};

use crate::{
    aimock::Peer,
    support::{Nvim, Options},
};

/// The key that every provider is given. The screen and the buffer never show it.
pub const KEY: &str = "sk-test-0123456789";

/// One of the protocols.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// The provider's name in the configuration.
    pub provider: &'static str,
    /// A model that thinks.
    pub model: &'static str,
    /// What stands behind the peer's address in `base_url`.
    pub base: &'static str,
    /// More of the provider's own options, in Lua.
    pub options: &'static str,
    /// Where the peer finds the request.
    pub path: &'static str,
    /// Events that the peer sends before the first of a reply's text, at most.
    pub events_before_text: u64,
}

/// Anthropic's Messages.
pub const ANTHROPIC: Protocol = Protocol {
    provider: "anthropic",
    model: "claude-opus-5-5",
    base: "",
    options: "",
    path: "/v1/messages",
    events_before_text: 2,
};

/// OpenAI's Responses.
pub const OPENAI: Protocol = Protocol {
    provider: "openai",
    model: "gpt-5.6-terra",
    base: "/v1",
    options: "",
    path: "/v1/responses",
    events_before_text: 6,
};

/// Chat Completions.
pub const COMPATIBLE: Protocol = Protocol {
    provider: "openai_compatible",
    model: "llama",
    base: "/v1",
    options: "",
    path: "/v1/chat/completions",
    events_before_text: 1,
};

/// Gemini on Vertex AI.
pub const VERTEX: Protocol = Protocol {
    provider: "vertex",
    model: "gemini-3-pro-preview",
    base: "",
    options: "project_id = 'peer'",
    path: "/v1/projects/peer/locations/global/publishers/google/models/gemini-3-pro-preview:streamGenerateContent",
    events_before_text: 0,
};

/// An editor with `notes.chat` open, and the peer that it talks to.
pub struct Editor {
    /// The editor.
    pub nvim: Nvim,
}

impl Editor {
    /// Opens `notes.chat`, which begins with `text`. `parameters` are further fields of `parameters`, in Lua; the files
    /// that the model may read are `a.txt` and what it says is there.
    pub fn open(protocol: &Protocol, peer: &Peer, text: &str, parameters: &str) -> Self {
        let Protocol { provider, model, base, options, .. } = protocol;
        let base_url = format!("{}{base}", peer.base_url());
        let init = format!(
            "require('flemma').setup({{ provider = '{provider}', model = '{model}', parameters = {{ thinking = 'low', \
             {provider} = {{ base_url = '{base_url}', {options} }}, {parameters} }} }})"
        );
        let nvim = Nvim::start(&Options {
            files: &[("notes.chat", text), ("a.txt", "one\n")],
            arguments: &["notes.chat"],
            init: &init,
            environment: &[("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY), ("VERTEX_AI_ACCESS_TOKEN", KEY)],
            screen: Some((100, 40)),
        });
        Self { nvim }
    }

    /// Presses the key that sends.
    pub fn send(&mut self) {
        self.nvim.input("<Esc><C-]>");
    }

    /// Types at the end of the buffer, and sends.
    pub fn say(&mut self, text: &str) {
        self.nvim.input("<Esc>GA");
        self.nvim.type_text(text);
        self.send();
    }

    /// The buffer without what providers add for themselves: the signatures of thinking, blocks of thinking that hold
    /// nothing else, and Vertex AI's mark on ids.
    pub fn shown(&mut self) -> String {
        let unsigned = |line: String| if line.starts_with("<thinking ") { "<thinking>".to_owned() } else { line };
        let text: String = self.nvim.lines(0).into_iter().map(|line| unsigned(line) + "\n").collect();
        text.replace("<thinking>\n</thinking>\n\n", "").replace("(`vertex:", "(`").replace(":** `vertex:", ":** `")
    }

    /// Waits until the buffer has exactly this text and is unlocked.
    pub fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.shown() != text || self.nvim.lua("return vim.bo.modifiable", &[]) != true {
            if Instant::now() > deadline {
                let is = self.shown();
                self.nvim.fail(&format!("the buffer is\n{is}\n---- and should be\n{text}\n----"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for a message.
    pub fn wait_until_told(&mut self, words: &str) {
        self.nvim.wait_for(words, |nvim| messages(nvim).contains(words));
    }

    /// All messages on one line. The key is never among them.
    pub fn told(&mut self) -> String {
        let told = messages(&mut self.nvim);
        assert!(!told.contains(KEY) && !told.contains("traceback"), "{told}");
        told
    }
}

fn messages(nvim: &mut Nvim) -> String {
    nvim.messages().split_whitespace().collect::<Vec<_>>().join(" ")
}
