//! Conversations whose editor is killed at every step of a turn, and opened again: nothing that was acknowledged is lost, no
//! tool runs twice, and every call has one result in the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    anthropic::Stream,
    chat::{KEY, init, reply},
    http::{Reply, Server},
    support::{Nvim, Options},
};

/// Plays the user. It resolves every call that waits, carries on when nothing does, and kills its own editor where it is told
/// to. What happened is written to files beside the conversation: `effects` has a line for each run of a tool, `acknowledged`
/// a line for each resolution of which `resolve()` said that it is safe.
const DRIVER: &str = "
    local tools, core = require('flemma.tools'), require('flemma.core')
    local generation, point = vim.env.TEST_GENERATION, vim.env.TEST_KILL
    local folder = vim.fn.fnamemodify(vim.env.TEST_FILE, ':h')
    local function note(name, line)
      local file = assert(io.open(folder .. '/' .. name, 'a'))
      file:write(line .. '\\n')
      file:close()
    end
    local seen = {}
    local function at(here)
      seen[here] = (seen[here] or 0) + 1
      if point == here .. ' ' .. seen[here] then
        vim.uv.kill(vim.uv.os_getpid(), 9)
      end
    end
    local function tool(name, approval, idempotent)
      tools.register(name, {
        description = 'Has an effect.',
        input_schema = { type = 'object' },
        approval = approval,
        idempotent = idempotent,
        async = true,
        execute = function(_, ctx, done)
          at('running')
          note('effects', ctx.call_id)
          at('effect')
          vim.defer_fn(function()
            done(ctx.call_id .. ' is done')
            at('answered')
          end, 3)
        end,
      })
    end
    tool('automatic', 'auto', false)
    tool('gated', 'requires_approval', false)
    tool('again', 'auto', true)
    for _, event in ipairs({
      'FlemmaRequestSending', 'FlemmaRequestFinished', 'FlemmaToolPending', 'FlemmaToolExecuting', 'FlemmaToolFinished',
    }) do
      vim.api.nvim_create_autocmd('User', { pattern = event, callback = function() at(event) end })
    end
    local function decision(call)
      if call.question and call.question:find('Run it again') then
        return { approved = false, message = 'nobody knows' }
      end
      return call.kind == 'elicitation' and { answer = 'answer ' .. generation } or { approved = true }
    end
    local function step()
      local buf = vim.fn.bufnr('notes.chat')
      local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\\n')
      if text:find('The end', 1, true) then
        return at('end')
      elseif text:find('The beginning', 1, true) then
        at('streaming')
      end
      local waiting = tools.pending(buf)
      for _, call in ipairs(waiting) do
        at('waiting')
        local result = decision(call)
        local ok, problem = tools.resolve(buf, call.id, result)
        if ok then
          note('acknowledged', call.id .. ' ' .. vim.json.encode(result))
          at('acknowledged')
        elseif problem ~= 'stale' and not problem:find('not read yet') and not problem:find('approves another run') then
          -- A call is listed as soon as the file is read. It can be resolved once the journal is, which may say that it was
          -- started. The next step tries again.
          note('problems', problem)
        end
      end
      if #waiting == 0 and not require('flemma.buffer.lock').is_locked(buf) then
        core.send_or_execute(buf)
      end
    end
    function _G.go()
      local timer = assert(vim.uv.new_timer())
      timer:start(5, 2, vim.schedule_wrap(step))
    end";

/// When an editor is killed.
#[derive(Clone, Debug)]
enum Kill {
    /// By itself, when it comes to this point: its name, and how often.
    At(&'static str),
    /// After so many milliseconds.
    After(u64),
    /// Not before the conversation has ended.
    Never,
}

const CALLS: [(&str, &str); 6] = [
    ("call_a", "automatic"),
    ("call_b", "gated"),
    ("call_c", "ask_user"),
    ("call_d", "again"),
    ("call_e", "bash"),
    ("call_f", "gated"),
];

fn input(id: &str, tool: &str) -> Value {
    match tool {
        "ask_user" => json!({ "question": "Why?", "options": null, "default": null }),
        "bash" => json!({ "label": null, "command": format!("echo {id} >> effects"), "timeout": null }),
        _ => json!({}),
    }
}

fn calls() -> Reply {
    let stream = CALLS.iter().fold(Stream::new().text(&["I will."]), |stream, (id, tool)| {
        stream.tool_use(id, tool, &[&input(id, tool).to_string()])
    });
    reply(&stream.end("tool_use"))
}

/// The last reply. Where the editor ends while it arrives, the pauses are long enough for a busy machine to see that it does.
fn last(kill: &Kill) -> Reply {
    let stream = Stream::new().text(&["The beginning", " and then ", "The end"]).end("end_turn");
    let is_seen = matches!(kill, Kill::At(point) if point.starts_with("streaming"));
    let pause = if is_seen { Duration::from_secs(5) } else { Duration::from_millis(8) };
    stream.events().iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str()).pause(pause))
}

/// A conversation, in one editor after another.
struct Story {
    home: Option<Nvim>,
    generation: u32,
}

impl Story {
    /// Opens the conversation in the next editor, which ends like this. Gives the text at the end.
    fn go_on(&mut self, kill: &Kill) {
        self.generation += 1;
        let has_calls = self.home.as_ref().is_some_and(|first| first.file("notes.chat").contains("**Tool Use:**"));
        let last = || last(kill);
        let server = Server::start(if has_calls { vec![last(), last()] } else { vec![calls(), last(), last()] });
        let init = init(&server.base_url(), "") + "\n" + DRIVER;
        let point = if let Kill::At(point) = kill { point } else { "" };
        let generation = self.generation.to_string();
        let place = self.home.as_ref().map(|first| (first.work().join("notes.chat"), first.folder("state")));
        let (file, state) = place.unzip();
        let name = file.as_deref().map_or("notes.chat", |file| file.to_str().unwrap());
        let mut environment = vec![
            ("ANTHROPIC_API_KEY", KEY),
            ("TEST_GENERATION", &generation),
            ("TEST_KILL", point),
            ("TEST_FILE", name),
        ];
        if let Some(state) = &state {
            environment.push(("XDG_STATE_HOME", state.to_str().unwrap()));
        }
        let folder = file.as_deref().and_then(Path::parent).map(|folder| format!("cd {}", folder.display()));
        let mut arguments = vec!["-n"];
        if let Some(folder) = &folder {
            arguments.extend(["--cmd", folder]);
        }
        arguments.push(name);
        let files: &[_] = if file.is_none() { &[("notes.chat", "@You:\nHello\n")] } else { &[] };
        let mut nvim = Nvim::start(&Options {
            files,
            arguments: &arguments,
            init: &init,
            environment: &environment,
            screen: None,
        });
        let started = nvim.try_lua("go()", &[]);
        match kill {
            Kill::At(_) => nvim.wait_for_exit(),
            Kill::After(milliseconds) => {
                started.unwrap();
                thread::sleep(Duration::from_millis(*milliseconds));
                nvim.kill();
            }
            Kill::Never => {
                started.unwrap();
                nvim.wait_for("the end", |nvim| {
                    nvim.text().contains("The end") && nvim.lua("return vim.bo.modified", &[]) == false
                });
            }
        }
        if self.home.is_none() {
            self.home = Some(nvim);
        }
    }

    fn file(&self, name: &str) -> String {
        let work = self.home.as_ref().unwrap().work();
        fs::read_to_string(work.join(name)).unwrap_or_default()
    }

    /// Checks what became of the calls.
    fn check(&self, kills: &[Kill]) {
        let text = self.file("notes.chat");
        let about = |what: &str| {
            let [effects, acknowledged, problems] = ["effects", "acknowledged", "problems"].map(|name| self.file(name));
            format!("{kills:?}: {what}\n{text}\n---- effects\n{effects}---- acknowledged\n{acknowledged}{problems}")
        };
        let mut effects: BTreeMap<String, usize> = BTreeMap::new();
        self.file("effects").lines().for_each(|id| *effects.entry(id.to_owned()).or_default() += 1);
        let acknowledged = self.file("acknowledged");
        let mut answered = BTreeSet::new();
        for line in acknowledged.lines() {
            let (id, what) = line.split_once(' ').unwrap();
            let what: Value = serde_json::from_str(what).unwrap();
            if what["approved"] == true {
                continue;
            }
            assert!(answered.insert(id.to_owned()), "{}", about("acknowledged twice"));
            let words = what["answer"].as_str().or(what["message"].as_str()).unwrap();
            assert!(result(&text, id).unwrap().contains(words), "{}", about("an acknowledged answer was lost"));
        }
        for (id, tool) in CALLS {
            assert_eq!(text.matches(&format!("**Tool Result:** `{id}`")).count(), 1, "{}", about(id));
            let result = result(&text, id).unwrap();
            assert!(!result.contains("flemma:tool"), "{}", about(id));
            let runs = effects.get(id).copied().unwrap_or_default();
            let most = if tool == "again" { kills.len() + 1 } else { 1 };
            assert!(runs <= most, "{}", about(&format!("{id} ran {runs} times")));
            // What ran and ended is told so; what nobody knows is not told as done.
            let is_told = result.contains(" is done") || (tool == "bash" && !result.contains("nobody knows"));
            assert!(runs > 0 || tool == "ask_user" || !is_told, "{}", about(&format!("{id} did not run")));
        }
        assert_eq!(self.file("problems"), "", "{}", about("problems"));
    }
}

/// What stands behind the header of a result.
fn result<'a>(text: &'a str, id: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("**Tool Result:** `{id}`"))?;
    let end = rest.find("\n**Tool Result:**").or_else(|| rest.find("\n@")).unwrap_or(rest.len());
    Some(&rest[..end])
}

fn play(kills: &[Kill]) {
    let mut story = Story { home: None, generation: 0 };
    kills.iter().chain([&Kill::Never]).for_each(|kill| story.go_on(kill));
    story.check(kills);
}

#[test]
fn a_kill_at_any_point_of_a_turn_loses_and_repeats_nothing() {
    let points = [
        "FlemmaRequestSending 1",
        "FlemmaRequestFinished 1",
        "FlemmaToolPending 1",
        "FlemmaToolExecuting 1",
        "running 1",
        "effect 1",
        "answered 1",
        "FlemmaToolFinished 1",
        "waiting 1",
        "acknowledged 1",
        "acknowledged 2",
        "acknowledged 3",
        "effect 3",
        "FlemmaToolFinished 4",
        "FlemmaRequestSending 2",
        "streaming 1",
        "end 1",
    ];
    for point in points {
        play(&[Kill::At(point)]);
    }
}

#[test]
fn a_kill_at_any_moment_loses_and_repeats_nothing() {
    for _ in 0..6 {
        let kills: Vec<Kill> = (0..3).map(|_| Kill::After(fastrand::u64(0..150))).collect();
        play(&kills);
    }
}
