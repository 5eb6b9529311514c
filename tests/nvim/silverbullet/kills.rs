//! Generated stories of a handler that writes twice, in editors that are killed between any two steps. Each change is approved or
//! rejected in an editor or from the command line, and the user changes the page in between.
//!
//! What holds in all of them: the page has its old content or what was approved for it as it was then, written at most once. The
//! call has one result in the end, which says the truth.

use std::{fs, path::PathBuf, process::Command, thread, time::Duration};

use fastrand::Rng;
use serde_json::json;

use super::{OPTIONS, VAULT, with_options};
use crate::{
    anthropic::Stream,
    chat::{Chat, prose, reply},
    command_line::{flemma, run},
};

/// The tool, and a user who decides about its changes. `kill` says where the editor ends itself, and `decisions` what the user
/// does. What they want is written down before they do it: `steps` has what the handler proposes, `wishes` the decisions.
const DRIVER: &str = "
    local folder = vim.fn.getcwd()
    local function note(name, line)
      local file = assert(io.open(folder .. '/' .. name, 'a'))
      file:write(line .. '\\n')
      file:close()
    end
    local function last(name)
      local lines = vim.fn.filereadable(folder .. '/' .. name) == 1 and vim.fn.readfile(folder .. '/' .. name) or {}
      return lines[#lines]
    end
    local seen = {}
    local function at(here)
      seen[here] = (seen[here] or 0) + 1
      if vim.g.kill_at == here .. ' ' .. seen[here] then
        vim.uv.kill(vim.uv.os_getpid(), 9)
      end
    end
    local sb = require('flemma.compat.silverbullet')
    sb.ai.tools.writer = {
      description = 'x',
      writePathParam = 'page',
      parameters = { type = 'object', properties = { page = { type = 'string' } } },
      handler = function(args)
        note('steps', 'begin')
        at('begin')
        for _, word in ipairs({ 'one', 'two' }) do
          note('steps', word)
          at('proposing')
          sb.ai.writePage(args.page, word .. '\\n')
          at('written')
        end
        note('steps', 'end')
        return 'both are written'
      end,
    }
    for _, event in ipairs({
      'FlemmaRequestSending', 'FlemmaRequestFinished', 'FlemmaToolPending', 'FlemmaToolExecuting', 'FlemmaToolFinished',
    }) do
      vim.api.nvim_create_autocmd('User', { pattern = event, callback = function() at(event) end })
    end
    local function decide(buf, call)
      local is_approved = vim.g.decisions:sub(1, 1):lower() == 'a'
      if call.question and call.question:find('Run it again') then
        note('wishes', 'leave')
        return require('flemma.tools').resolve(buf, call.id, { approved = false, message = 'nobody knows' })
      end
      note('wishes', is_approved and 'approve ' .. (last('steps') or '') or 'reject')
      if vim.g.decisions == 'A' then
        -- They look at the change, also if it had to be made again.
        return vim.cmd('silent! %Flemma tool:approve')
      end
      local ok, problem = require('flemma.tools').resolve(buf, call.id, { approved = is_approved })
      if ok then
        vim.g.decisions = vim.g.decisions:sub(2)
        at('decided')
      elseif
        problem ~= 'stale'
        and not problem:find('not read yet')
        and not problem:find('not known yet')
        -- The call was listed before the journal was read, which says that it was started.
        and not problem:find('approves another run')
      then
        note('problems', problem)
      end
    end
    local function step()
      local buf = vim.api.nvim_get_current_buf()
      local waiting = require('flemma.tools').pending(buf)
      local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\\n')
      if text:find('fine', 1, true) then
        return at('end')
      end
      for _, call in ipairs(waiting) do
        at('waiting')
        if vim.g.decisions ~= '' then
          decide(buf, call)
        end
      end
      if #waiting == 0 and not require('flemma.buffer.lock').is_locked(buf) then
        require('flemma.core').send_or_execute(buf)
      end
    end
    function _G.go()
      local timer = assert(vim.uv.new_timer())
      timer:start(5, 3, vim.schedule_wrap(step))
    end";

const POINTS: [&str; 17] = [
    "FlemmaRequestFinished 1",
    "FlemmaToolExecuting 1",
    "begin 1",
    "proposing 1",
    "FlemmaToolPending 1",
    "waiting 1",
    "decided 1",
    "FlemmaToolExecuting 2",
    "written 1",
    "proposing 2",
    "FlemmaToolPending 2",
    "waiting 2",
    "decided 2",
    "written 2",
    "FlemmaToolFinished 1",
    "FlemmaRequestSending 2",
    "end 1",
];

/// How an editor ends.
#[derive(Clone, Debug)]
enum End {
    /// It kills itself at this point.
    At(&'static str),
    /// After so many milliseconds. The command line decides meanwhile, if it says so.
    After(u64, Option<&'static str>),
    /// When the conversation has ended.
    Itself,
}

/// What happens after another.
#[derive(Clone, Debug)]
enum Scene {
    /// An editor, in which a script takes these decisions: `a` approves, `r` rejects. `A` is a user who approves what they see.
    Editor(&'static str, End),
    /// A decision by the command line.
    Cli(&'static str),
    /// The user changes the page.
    Changed,
}

fn story(rng: &mut Rng) -> Vec<Scene> {
    let mut scenes = Vec::new();
    for _ in 0..rng.usize(1..4) {
        let decisions = *rng.choice(["", "a", "aa", "aaaa", "ar", "r", "aar"].iter()).unwrap();
        let end = match rng.u8(0..4) {
            0 => End::After(rng.u64(0..200), None),
            1 => End::After(rng.u64(20..250), Some(rng.choice(["--approve", "--reject"]).unwrap())),
            _ => End::At(rng.choice(POINTS).unwrap()),
        };
        scenes.push(Scene::Editor(decisions, end));
        if rng.u8(0..3) == 0 {
            scenes.push(Scene::Changed);
        }
        if rng.u8(0..3) == 0 {
            scenes.push(Scene::Cli(rng.choice(["--approve", "--approve", "--reject"]).unwrap()));
        }
        if rng.u8(0..5) == 0 {
            scenes.push(Scene::Changed);
        }
    }
    scenes.push(Scene::Editor(rng.choice(["A", "A", "rrrrrrrr"]).unwrap(), End::Itself));
    scenes
}

/// A conversation, in one editor after another.
struct Play {
    first: Chat,
    seed: u64,
    scenes: Vec<Scene>,
    /// What the page may contain: what it did, and what was approved since.
    may_be: Vec<String>,
    /// How many wishes are counted in `may_be`.
    counted: usize,
    changes: usize,
}

impl Play {
    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.first.nvim.work().join(name)
    }

    fn about(&self, what: &str) -> String {
        let files =
            ["notes.chat", "vault/Index.md", "steps", "wishes"].map(|name| format!("---- {name}\n{}", self.file(name)));
        let journal =
            Command::new("grep").args(["-r", ".", "--include=*.jsonl"]).arg(self.first.nvim.folder("state")).output();
        let journal = journal.map(|found| String::from_utf8_lossy(&found.stdout).into_owned()).unwrap_or_default();
        format!("seed {}: {what}\n{:?}\n{}---- journal\n{journal}", self.seed, self.scenes, files.concat())
    }

    /// Sees to it that the page has a content that was approved for what it was.
    fn check_page(&mut self) {
        let wishes = self.file("wishes");
        let lines: Vec<&str> = wishes.lines().collect();
        for wish in &lines[self.counted..] {
            if let Some(content) = wish.strip_prefix("approve ") {
                self.may_be.push(format!("{content}\n"));
            }
        }
        self.counted = lines.len();
        let page = self.file("vault/Index.md");
        assert!(self.may_be.contains(&page), "{}", self.about("the page has what nobody approved"));
    }

    fn wish(&self, wish: &str) {
        let proposed = self.file("steps").lines().last().unwrap_or_default().to_owned();
        let line = if wish == "--approve" { format!("approve {proposed}\ncli\n") } else { "reject\n".to_owned() };
        fs::write(self.path("wishes"), self.file("wishes") + &line).unwrap();
    }

    fn cli(&self, wish: &str) -> Command {
        let arguments: &[&str] = if wish == "--reject" { &["--reject", "not now"] } else { &[wish] };
        flemma(&self.first, &self.path("notes.chat"), "toolu_1", arguments)
    }

    fn editor(&mut self, decisions: &str, end: &End) {
        let work = self.first.nvim.work();
        let point = if let End::At(point) = end { point } else { "" };
        let lua = format!(
            "vim.api.nvim_set_current_dir('{}') vim.g.kill_at = '{point}' vim.g.decisions = '{decisions}' {DRIVER}",
            work.display()
        );
        let mut replies = vec![prose(&["fine"]), prose(&["fine"])];
        if !self.file("notes.chat").contains("**Tool Use:**") {
            let input = json!({ "page": "Index" }).to_string();
            replies.insert(0, reply(&Stream::new().tool_use("toolu_1", "writer", &[&input]).end("tool_use")));
        }
        let mut chat = Chat::another(&self.first, &self.path("notes.chat"), (OPTIONS, &lua), replies);
        let started = chat.nvim.try_lua("go()", &[]);
        match end {
            End::At(_) => {
                // It may never get there: then it is killed where it is.
                for _ in 0..60 {
                    if chat.nvim.try_lua("return 1", &[]).is_err() {
                        break;
                    }
                    thread::sleep(Duration::from_millis(10));
                }
                chat.nvim.kill();
            }
            End::After(milliseconds, wish) => {
                started.unwrap();
                let resolving = wish.map(|wish| {
                    self.wish(wish);
                    let command = self.cli(wish);
                    thread::spawn(move || run(command))
                });
                thread::sleep(Duration::from_millis(*milliseconds));
                chat.nvim.kill();
                if let Some(resolving) = resolving {
                    resolving.join().unwrap();
                }
            }
            End::Itself => {
                started.unwrap();
                chat.nvim.wait_for("the end", |nvim| {
                    nvim.text().contains("@Assistant:\nfine") && nvim.lua("return vim.bo.modified", &[]) == false
                });
            }
        }
    }

    fn run(&mut self) {
        for scene in self.scenes.clone() {
            match scene {
                Scene::Editor(decisions, end) => self.editor(decisions, &end),
                Scene::Cli(wish) => {
                    self.wish(wish);
                    let (code, said) = run(self.cli(wish));
                    assert!(code <= 1 && !said.contains("panicked"), "{}", self.about(&said));
                }
                Scene::Changed => {
                    self.check_page();
                    self.changes += 1;
                    let mine = format!("mine {}\n", self.changes);
                    fs::write(self.path("vault/Index.md"), &mine).unwrap();
                    // What was approved before was approved for another content.
                    self.may_be = vec![mine];
                }
            }
            self.check_page();
        }
    }

    /// Checks the result.
    fn check_result(&self) {
        let (text, steps, page) = (self.file("notes.chat"), self.file("steps"), self.file("vault/Index.md"));
        assert_eq!(text.matches("**Tool Result:** `toolu_1`").count(), 1, "{}", self.about("results"));
        let result = text.split("**Tool Result:** `toolu_1`").nth(1).unwrap();
        let result = result.split("\n@Assistant:").next().unwrap();
        assert!(!result.contains("flemma:tool"), "{}", self.about("it has no result"));
        // The command line may approve that a call runs again of which nobody knows how far it got.
        let most = 1 + self.file("wishes").matches("cli").count();
        assert!(steps.matches("begin").count() <= most, "{}", self.about("the handler ran twice"));
        assert_eq!(self.file("problems"), "", "{}", self.about("problems"));
        let (wishes, proposed) = (self.file("wishes"), steps.lines().rfind(|step| *step != "end").unwrap_or_default());
        let is_approved = wishes.contains(&format!("approve {proposed}"));
        let is_there = page == format!("{proposed}\n");
        let is_changed = self.changes > 0;
        if result.contains("both are written") {
            assert!(steps.ends_with("end\n") && is_approved && (is_there || is_changed), "{}", self.about("not both"));
        } else if result.contains("Wrote `Index`") || result.contains("have the content that the user approved") {
            let is_told = result.contains("The tool did not continue afterwards") && !steps.ends_with("end\n");
            assert!(is_told && is_approved && (is_there || is_changed), "{}", self.about("not written"));
        } else if result.contains("nothing of it was written") {
            assert!(wishes.contains("reject") && !is_there, "{}", self.about("it was written"));
        } else {
            let is_known = ["it is not known whether it had an effect", "did not run", "nothing was written"]
                .iter()
                .any(|words| result.contains(words));
            assert!(is_known, "{}", self.about("another result"));
            assert!(!result.contains("did not run.") || steps.is_empty(), "{}", self.about("it did run"));
        }
    }
}

fn play(seed: u64) {
    let scenes = story(&mut Rng::with_seed(seed));
    // The first editor only makes the folder.
    let mut first = with_options("", &[], "");
    first.nvim.kill();
    let mut play = Play { first, seed, scenes, may_be: vec![VAULT[0].1.to_owned()], counted: 0, changes: 0 };
    play.run();
    play.check_result();
}

/// `FLEMMA_SEEDS` says how many more stories are told; a failure names its seed. `FLEMMA_SEED` tells one story again and again.
#[test]
fn kills_between_any_steps_write_what_was_approved_once() {
    if let Some(seed) = std::env::var("FLEMMA_SEED").ok().and_then(|seed| seed.parse().ok()) {
        (0..20).for_each(|_| play(seed));
    }
    let more = std::env::var("FLEMMA_SEEDS").ok().and_then(|more| more.parse().ok()).unwrap_or(0);
    let random = (0..2 + more).map(|_| fastrand::u64(..));
    (0..8).chain(random).for_each(play);
}
