//! The cost of a reply that streams in at the pace of a model, in writes, parses and bytes, and the work that waits for
//! the first screen.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{
    anthropic::{Stream, text_delta},
    chat::{Chat, Setup},
    http::{Gate, Reply},
    support::{Nvim, Options},
};

/// Counts what is written and parsed from here on.
const COUNT: &str = "
    local writing = require('flemma.buffer.writing')
    local write = writing.write
    Count = { writes = 0, bytes = 0, parses = 0 }
    vim.treesitter.get_parser(0, 'markdown'):register_cbs({ on_changedtree = function() Count.parses = Count.parses + 1 end })
    function writing.write(buf, first, first_col, last, last_col, lines, join)
      Count.writes = Count.writes + 1
      Count.bytes = Count.bytes + #table.concat(lines, '\\n')
      return write(buf, first, first_col, last, last_col, lines, join)
    end
    function Counted()
      return Count
    end";

fn counted(nvim: &mut Nvim) -> (u64, u64, u64) {
    let counted = nvim.lua("return Counted()", &[]);
    let get = |name: &str| counted[name].as_u64().unwrap();
    (get("writes"), get("bytes"), get("parses"))
}

/// Waits until Markdown has its colours.
fn wait_for_markdown(nvim: &mut Nvim) {
    assert_eq!(
        nvim.lua("return require('flemma.view.markdown').available()", &[]),
        true,
        "Neovim has parsers of its own"
    );
    nvim.wait_for("Markdown to be known", |nvim| nvim.lua("return vim.b.ts_highlight", &[]) == true);
    nvim.command("redraw!");
}

/// A reply of text. `pieces` adds the text to the beginning of the stream.
fn reply(pieces: impl FnOnce(Reply) -> Reply) -> Reply {
    let stream = Stream::new().text(&[]).end("end_turn");
    let [start, open, rest @ ..] = stream.events() else { panic!("a stream has a beginning") };
    let reply = pieces(Reply::stream().chunk(start.as_str()).chunk(open.as_str()));
    rest.iter().fold(reply, |reply, event| reply.chunk(event.as_str()))
}

#[test]
fn chunks_are_written_about_thirty_times_a_second() {
    let period = Duration::from_millis(4);
    let pieces: Vec<String> = (0..500).map(|n| format!("word{n} ")).collect();
    let all = pieces.concat();
    let gate = Gate::new();
    let reply = reply(|begin| {
        let all = pieces.iter().fold(begin, |reply, piece| reply.tick(period).chunk(text_delta(0, piece)));
        all.hold(&gate).chunk(text_delta(0, " The end."))
    });
    let mut chat = Chat::start(&Setup::default(), [reply]);
    wait_for_markdown(&mut chat.nvim);
    chat.nvim.lua(COUNT, &[]);
    let begun = Instant::now();
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("all pieces", |nvim| nvim.text().contains("word499"));
    let took = begun.elapsed();
    let (writes, bytes, parses) = counted(&mut chat.nvim);
    // A slow machine writes less often, never more.
    let most = 3 + u64::try_from(took.as_millis() / 33).unwrap();
    assert!((10..=most).contains(&writes), "{writes} writes in {took:?}");
    // Only the added text is passed to Lua, once, without the paragraph before it.
    let marker = "\n\n@Assistant:\n".len();
    assert!((all.len()..all.len() + 2 * marker).contains(&usize::try_from(bytes).unwrap()), "{bytes} bytes");
    assert!(parses <= writes + 3, "{parses} parses for {writes} writes");
    gate.open();
    chat.wait_until_idle();
    assert!(chat.nvim.text().contains("word499  The end."));
}

#[test]
fn a_single_chunk_is_drawn_before_the_next_one_arrives() {
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let words = ["First", " second", " third"];
    let reply = reply(|begin| {
        words.iter().zip(&gates).fold(begin, |reply, (word, gate)| reply.hold(gate).chunk(text_delta(0, word)))
    });
    let mut chat = Chat::start(&Setup::default(), [reply]);
    chat.nvim.input("<C-]>");
    for (count, gate) in gates.iter().enumerate() {
        gate.open();
        chat.nvim.wait_for_screen(&words[..=count].concat());
    }
    chat.wait_until_idle();
}

#[test]
fn a_reply_that_pauses_is_coloured_to_its_end() {
    let gates = [Gate::new(), Gate::new()];
    let reply = reply(|begin| {
        let beginning = begin.chunk(text_delta(0, &"Plain words. ".repeat(40)));
        beginning.hold(&gates[0]).chunk(text_delta(0, "*slanted* x")).hold(&gates[1])
    });
    let mut chat = Chat::start(&Setup::default(), [reply]);
    wait_for_markdown(&mut chat.nvim);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the paragraph", |nvim| nvim.text().contains("Plain words. Plain"));
    gates[0].open();
    chat.nvim.wait_for_screen("*slanted* x");
    let is_slanted = "
        local at = vim.fn.searchpos('slanted', 'nw')
        local place = vim.fn.screenpos(0, at[1], at[2])
        if place.row == 0 then return false end
        return (vim.api.nvim__inspect_cell(1, place.row - 1, place.col - 1)[2] or {}).italic == true";
    // The spinner is drawn all the while.
    chat.nvim.wait_for("the last words in italics", |nvim| nvim.lua(is_slanted, &[]) == true);
    gates[1].open();
    chat.wait_until_idle();
}

#[test]
fn the_first_screen_is_drawn_before_parsers_are_loaded() {
    // The contents of the screen when the first parser or query is loaded.
    let init = "
        local get, parse = vim.treesitter.query.get, vim.treesitter.get_string_parser
        local function look(what)
          if not vim.g.screen then
            local row = {}
            for column = 1, 20 do
              row[column] = vim.fn.screenstring(2, column)
            end
            vim.g.screen = what .. ': ' .. vim.trim(table.concat(row))
          end
        end
        vim.treesitter.query.get = function(...)
          look('query')
          return get(...)
        end
        vim.treesitter.get_string_parser = function(...)
          look('parser')
          return parse(...)
        end
        require('flemma').setup({})";
    let text = "@You:\nSome **words**\n\n```lua\nlocal x = 1\n```\n";
    let mut nvim = Nvim::start(&Options {
        files: &[("notes.chat", text)],
        arguments: &["notes.chat"],
        init,
        screen: Some((60, 20)),
        ..Options::default()
    });
    assert_eq!(nvim.lua("return require('flemma.view.markdown').available()", &[]), true);
    nvim.wait_for("the queries", |nvim| nvim.lua("return vim.g.screen", &[]) != Value::Null);
    assert_eq!(nvim.lua("return vim.g.screen", &[]), "query: Some **words**");
}

#[test]
fn lines_in_a_closed_fold_are_not_drawn() {
    let thoughts = "so\n".repeat(60_000);
    let mut chat = Chat::start(
        &Setup::default(),
        [super::chat::reply(&Stream::new().thinking(&[&thoughts], "sig").text(&["Yes."]).end("end_turn"))],
    );
    chat.nvim.lua(
        "local set = vim.api.nvim_buf_set_extmark
         Drawn = 0
         function vim.api.nvim_buf_set_extmark(buf, namespace, line, column, options)
           Drawn = Drawn + (options.ephemeral and 1 or 0)
           return set(buf, namespace, line, column, options)
         end",
        &[],
    );
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("Yes.");
    chat.wait_until_idle();
    let drawn = chat.nvim.lua("return Drawn", &[]).as_u64().unwrap();
    assert!((1..2_000).contains(&drawn), "{drawn} marks are set for a screen of a few lines");
}
