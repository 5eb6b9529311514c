//! Decisions and the disk: what cannot be recorded does not happen, a disk that hangs holds up no key, and of several
//! decisions about a call one wins.

use std::{
    fs::{self, File, OpenOptions},
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, call, prose, reply, said},
    http::{Gate, Reply},
};

/// `limit(bytes)`: no file of this process can grow beyond so many bytes, as on a disk that is full. Without an argument it can.
const LIMIT: &str = "
    local ffi = require('ffi')
    ffi.cdef([[
      struct flemma_limit { unsigned long soft; unsigned long hard; };
      int setrlimit(int, const struct flemma_limit *);
      void (*signal(int, void (*)(int)))(int);
    ]])
    -- The signal that comes with it (SIGXFSZ) is ignored, so that the write fails.
    ffi.C.signal(25, ffi.cast('void (*)(int)', 1))
    function _G.limit(bytes)
      local no_limit = ffi.cast('unsigned long', 2 ^ 50)
      local limit = ffi.new('struct flemma_limit', { bytes and ffi.cast('unsigned long', bytes) or no_limit, no_limit })
      assert(ffi.C.setrlimit(1, limit) == 0)
    end";

fn bash(command: &str) -> Value {
    json!({ "label": null, "command": command, "timeout": null })
}

/// The journal of the only conversation.
pub fn journal(chat: &mut Chat) -> PathBuf {
    let folder = chat.nvim.folder("state").join("nvim/flemma/journal");
    let mut found = None;
    chat.nvim.wait_for("the journal", |_| {
        let mut files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        found = files.find(|path| path.extension().is_some_and(|kind| kind == "jsonl"));
        found.is_some()
    });
    found.unwrap()
}

fn is_waiting(chat: &mut Chat) -> bool {
    chat.nvim.lua("return #require('flemma.tools').pending(0)", &[]) == 1
}

fn resolve(chat: &mut Chat) -> Value {
    let code = "local ok, problem = require('flemma.tools').resolve(0, 'toolu_1', { approved = true })
                return { ok or false, problem or '' }";
    chat.nvim.lua(code, &[])
}

#[test]
fn a_decision_that_cannot_be_recorded_runs_nothing() {
    let setup = Setup { lua: LIMIT, ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", "bash", &bash("touch ran")), prose(&["fine"])]);
    chat.send_until("status=pending");
    let journal = journal(&mut chat);
    let aside = journal.with_extension("aside");
    let ran = chat.nvim.work().join("ran");
    // A full disk, and something else where the journal should be.
    for (trouble, cause) in [("full", "File too large"), ("folder", "Is a directory"), ("pipe", "it is a pipe")] {
        match trouble {
            "full" => drop(chat.nvim.lua("limit(0)", &[])),
            "folder" => {
                fs::rename(&journal, &aside).unwrap();
                fs::create_dir(&journal).unwrap();
            }
            _ => {
                let made = std::process::Command::new("mkfifo").arg(&journal).status().unwrap();
                assert!(made.success());
            }
        }
        chat.nvim.command("messages clear");
        chat.go_to("Tool Result");
        chat.nvim.input("<M-CR>");
        chat.nvim.wait_for(&format!("why not: {trouble}"), |nvim| {
            let said = said(nvim);
            said.contains("could not be recorded") && said.contains(cause)
        });
        chat.wait_until_idle();
        let refused = resolve(&mut chat);
        assert_eq!(refused[0], false, "{trouble}");
        assert!(refused[1].as_str().unwrap().contains(cause), "{trouble}: {refused}");
        assert!(is_waiting(&mut chat), "{trouble}: {}", chat.nvim.text());
        assert!(!ran.exists(), "{trouble}");
        match trouble {
            "full" => drop(chat.nvim.lua("limit()", &[])),
            "folder" => fs::remove_dir(&journal).unwrap(),
            _ => {
                fs::remove_file(&journal).unwrap();
                fs::rename(&aside, &journal).unwrap();
            }
        }
    }
    // With room, the same key works.
    chat.go_to("Tool Result");
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("fine"));
    assert!(ran.exists());
    assert_eq!(chat.server.requests().len(), 2);
}

#[test]
fn an_automatic_start_without_a_record_waits_for_the_user() {
    let lua = format!("{LIMIT}\nvim.o.swapfile = false");
    let setup = Setup { lua: &lua, options: "tools = { auto_approve = { 'bash' } }", ..Setup::default() };
    for (trouble, cause) in [("full", "File too large"), ("folder", "Not a directory")] {
        let command = bash("echo ran | tee -a ran");
        let mut chat = Chat::start(&setup, [call("toolu_1", "bash", &command), prose(&["fine"])]);
        let settled = "return require('flemma.native').call('state', 1, 'settled')";
        chat.nvim.wait_for("the conversation to be read", |nvim| nvim.lua(settled, &[]) == true);
        let folder = chat.nvim.folder("state").join("nvim/flemma/journal");
        if trouble == "full" {
            chat.nvim.lua("limit(0)", &[]);
        } else {
            let _ = fs::remove_dir_all(&folder);
            fs::write(&folder, "").unwrap();
        }
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for(&format!("why not: {trouble}"), |nvim| {
            let said = said(nvim);
            said.contains("bash") && said.contains("could not be recorded") && said.contains(cause)
        });
        chat.wait_until_idle();
        assert!(chat.nvim.text().contains("```flemma:tool status=pending"), "{}", chat.nvim.text());
        assert!(is_waiting(&mut chat), "{trouble}");
        // The same again: it is refused as long as the disk is full.
        chat.nvim.command("messages clear");
        chat.go_to("Tool Result");
        chat.nvim.input("<M-CR>");
        chat.nvim.wait_for("the refusal", |nvim| said(nvim).contains("could not be recorded"));
        chat.wait_until_idle();
        assert!(is_waiting(&mut chat), "{trouble}");
        assert!(!chat.nvim.work().join("ran").exists(), "{trouble}");
        if trouble == "full" {
            chat.nvim.lua("limit()", &[]);
        } else {
            fs::remove_file(&folder).unwrap();
        }
        chat.go_to("Tool Result");
        chat.nvim.input("<M-CR>");
        chat.nvim.wait_for("the result", |nvim| nvim.text().contains("```\nran\n```"));
        chat.wait_until_idle();
        if chat.server.requests().len() == 1 {
            chat.nvim.input("<C-]>");
        }
        chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("fine"));
        assert_eq!(chat.nvim.file("ran"), "ran\n", "{trouble}");
        assert_eq!(chat.server.requests().len(), 2, "{trouble}");
    }
}

#[test]
fn a_disk_that_hangs_holds_up_no_key() {
    let mut chat =
        Chat::start(&Setup::default(), [call("toolu_1", "bash", &bash("echo ran >> ran")), prose(&["fine"])]);
    chat.send_until("status=pending");
    let journal = journal(&mut chat);
    // As a process does that was stopped while it wrote.
    let lock = OpenOptions::new().append(true).open(&journal).unwrap();
    File::lock(&lock).unwrap();
    chat.go_to("Tool Result");
    let begun = Instant::now();
    for keys in ["<M-CR>", "<M-CR>", "<C-]>", ":Flemma tool:approve<CR>"] {
        chat.nvim.input(keys);
        assert!(chat.nvim.text().contains("status=pending"));
    }
    // A key that waited for the disk would wait until the lock below is given up. Here it waits for a busy machine at most.
    assert!(begun.elapsed() < Duration::from_secs(20), "the keys took {:?}", begun.elapsed());
    // To a program the call is not there to be resolved any more.
    assert_eq!(resolve(&mut chat), json!([false, "stale"]));
    assert!(!chat.nvim.work().join("ran").exists());
    drop(lock);
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("fine"));
    assert_eq!(chat.nvim.file("ran"), "ran\n");
    assert_eq!(chat.server.requests().len(), 2);
}

#[test]
fn of_a_key_and_a_program_one_wins() {
    const CALLS: usize = 100;
    let stream = (0..CALLS).fold(Stream::new(), |stream, n| stream.tool_use(&format!("call_{n}"), "effect", &["{}"]));
    let lua = "
        require('flemma.tools').register('effect', {
          description = 'Has an effect.',
          input_schema = { type = 'object' },
          approval = 'requires_approval',
          execute = function(_, ctx)
            runs[ctx.call_id] = (runs[ctx.call_id] or 0) + 1
            return 'ran'
          end,
        })
        runs, heard = {}, {}
        math.randomseed(os.time())
        -- A key approves the call at the cursor, and a program rejects it, in any order and at any distance.
        function race(n)
          local id = 'call_' .. n
          local line = vim.fn.search('Tool Result:\\\\*\\\\* `' .. id .. '`', 'w')
          vim.api.nvim_win_set_cursor(0, { line, 0 })
          local tools, core = require('flemma.tools'), require('flemma.core')
          local no = { approved = false, message = 'no' }
          local function key()
            core[math.random(2) == 1 and 'execute_at_cursor' or 'approve']()
          end
          local function program()
            if math.random(2) == 1 then
              local ok, problem = tools.resolve(0, id, no)
              heard[#heard + 1] = { id, ok or false, problem or '' }
            else
              tools.resolve(0, id, no, function(ok, problem)
                heard[#heard + 1] = { id, ok or false, problem or '' }
              end)
            end
          end
          local steps = math.random(2) == 1 and { key, program } or { program, key }
          steps[1]()
          if math.random(2) == 1 then vim.wait(math.random(0, 3), function() end, 1) end
          steps[2]()
          if math.random(2) == 1 then program() end
        end";
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, [reply(&stream.end("tool_use")), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the questions", |nvim| nvim.text().matches("status=pending").count() == CALLS);
    chat.wait_until_idle();
    for n in 0..CALLS {
        chat.nvim.lua("race(...)", &[n.into()]);
    }
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("fine"));
    let runs = chat.nvim.lua("return runs", &[]);
    let heard = chat.nvim.lua("return heard", &[]);
    let text = chat.nvim.text();
    for n in 0..CALLS {
        let id = format!("call_{n}");
        let times = runs.get(&id).and_then(Value::as_u64).unwrap_or_default();
        let answers: Vec<&Value> = heard.as_array().unwrap().iter().filter(|heard| heard[0] == id.as_str()).collect();
        let won = answers.iter().filter(|answer| answer[1] == true).count() as u64;
        assert_eq!(times + won, 1, "{id}: it ran {times} times, and the program heard {answers:?}");
        assert!(answers.iter().all(|answer| answer[1] == true || answer[2] == "stale"), "{answers:?}");
        assert_eq!(text.matches(&format!("**Tool Result:** `{id}`")).count(), 1, "{id}");
    }
    assert_eq!(
        text.matches("```\nran\n```").count()
            + text.matches("```\nno\n```").count()
            + text.matches("Error: no").count(),
        CALLS
    );
    assert_eq!(chat.server.requests().len(), 2, "one next request");
    let both = [runs.as_object().unwrap().len(), CALLS - runs.as_object().unwrap().len()];
    assert!(both.iter().all(|count| *count > 10), "both win often: {both:?}");
}

#[test]
fn a_sent_message_is_in_the_file_while_the_reply_arrives() {
    let gate = Gate::new();
    let stream = Stream::new().text(&["some words", " and more"]).end("end_turn");
    let events = stream.events();
    let reply = events.iter().enumerate().fold(Reply::stream(), |reply, (n, event)| {
        let reply = reply.chunk(event.as_str());
        if n == 2 { reply.hold(&gate) } else { reply }
    });
    let mut chat = Chat::start(&Setup { text: None, ..Setup::default() }, [reply]);
    chat.nvim.input("GoA long message<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("some words"));
    chat.nvim.wait_for("the file", |nvim| fs::read_to_string(nvim.work().join("notes.chat")).is_ok());
    chat.nvim.kill();
    assert_eq!(chat.nvim.file("notes.chat"), "@You:\n\nA long message\n");
}
