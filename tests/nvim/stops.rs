//! What the user hears of a conversation that stops while they do not look at it.

use serde_json::json;

use super::{
    chat::{Chat, Setup, call, prose, reply, said},
    command_line::PORT,
    http::{Gate, Reply},
};

/// A tool that runs by itself.
const TICK: &str = "require('flemma.tools').register('tick', {
    description = 'x', input_schema = { type = 'object' }, approval = 'auto', execute = function() return 'done' end,
})";

/// The same reply, which waits until the gate is open.
fn held(gate: &Gate, text: &str) -> Reply {
    let stream = super::anthropic::Stream::new().text(&[text]).end("end_turn");
    stream.events().iter().fold(Reply::stream().hold(gate), |reply, event| reply.chunk(event.as_str()))
}

/// Sends, goes elsewhere with `leave`, and gives what was said when the conversation rests.
fn stop(options: &str, leave: &str, replies: impl FnOnce(&Gate) -> Vec<Reply>) -> String {
    let gate = Gate::new();
    let lua = format!("{PORT}\n{TICK}\nvim.o.hidden = true");
    let mut chat = Chat::start(&Setup { options, lua: &lua, ..Setup::default() }, replies(&gate));
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the request", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == false);
    let _ = chat.server.wait_for_requests(1);
    chat.nvim.command(leave);
    gate.open();
    let rests = "return vim.bo[1].modifiable and require('flemma.native').call('state', 1, 'at_rest')";
    chat.nvim.wait_for("the conversation to rest", |nvim| nvim.lua(rests, &[]) == true);
    // What is said comes with the next turn of the main loop.
    let turned = "_G.turned = false vim.schedule(function() vim.schedule(function() _G.turned = true end) end)";
    chat.nvim.lua(turned, &[]);
    chat.nvim.wait_for("the main loop", |nvim| nvim.lua("return _G.turned", &[]) == true);
    if !leave.is_empty() && !options.contains("stops") {
        chat.nvim.wait_for("a message", |nvim| said(nvim).contains("notes.chat"));
    }
    let words = said(&mut chat.nvim);
    assert!(words.matches("notes.chat").count() <= 1, "one message for each stop: {words}");
    words
}

#[test]
fn a_stop_out_of_sight_says_which_conversation_and_why() {
    let done = |gate: &Gate| vec![held(gate, "fine")];
    for leave in ["enew", "tabnew", "doautocmd FocusLost"] {
        let words = stop("", leave, done);
        assert!(words.contains("notes.chat is done"), "{leave}: {words}");
    }
    let rest = |gate: &Gate, next: Reply| {
        let first = super::anthropic::Stream::new().tool_use("toolu_0", "tick", &["{}"]).end("tool_use");
        let first = first.events().iter().fold(Reply::stream().hold(gate), |reply, event| reply.chunk(event.as_str()));
        vec![first, next]
    };
    let words = stop("", "enew", |gate| rest(gate, call("toolu_1", "port", &json!({}))));
    assert!(words.contains("notes.chat asks: Asks for a port."), "{words}");
    let words = stop("tools = { autopilot = { max_turns = 1 } }", "enew", |gate| rest(gate, prose(&["never"])));
    assert!(words.contains("notes.chat: Autopilot paused after 1 request"), "{words}");
    let cut = super::anthropic::Stream::new().text(&["a beginning"]).end("max_tokens");
    let words = stop("", "enew", |gate| rest(gate, reply(&cut)));
    assert!(words.contains("notes.chat: The reply was cut off at max_tokens"), "{words}");
}

#[test]
fn nobody_is_told_what_they_see_or_do_not_want_to_hear() {
    let done = |gate: &Gate| vec![held(gate, "fine")];
    for (options, leave) in [("", ""), ("notify = { stops = false }", "enew")] {
        let words = stop(options, leave, done);
        assert!(!words.contains("is done"), "{options} {leave}: {words}");
    }
    // Back at the window.
    let words = stop("notify = { stops = true }", "doautocmd FocusLost | doautocmd FocusGained", done);
    assert!(!words.contains("is done"), "{words}");
}

#[test]
fn neovim_is_told_of_progress_and_may_cancel_it() {
    let gate = Gate::new();
    let lua = "_G.seen = {}
        if vim.fn.has('nvim-0.12') == 1 then
          vim.api.nvim_create_autocmd('Progress', { pattern = 'flemma', callback = function(args)
            _G.id = args.data.id
            table.insert(_G.seen, { args.data.title, args.data.status, (args.data.text[1] or args.data.text) })
          end })
        end";
    let replies = [held(&gate, "fine"), held(&Gate::new(), "never")];
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, replies);
    let has_progress = chat.nvim.lua("return vim.fn.has('nvim-0.12')", &[]) == 1;
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the request", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == false);
    if !has_progress {
        gate.open();
        chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("fine"));
        assert_eq!((chat.nvim.lua("return _G.seen", &[]), chat.nvim.messages()), (json!([]), String::new()));
        return;
    }
    chat.nvim.wait_for("a message", |nvim| nvim.lua("return _G.seen[1] and _G.seen[1][2]", &[]) == "running");
    assert_eq!(
        chat.nvim.lua("return vim.ui.progress_status() ~= nil and vim.o.messagesopt", &[]),
        "hit-enter,history:500,progress:c"
    );
    gate.open();
    chat.nvim.wait_for("the end", |nvim| nvim.lua("return _G.seen[#_G.seen][2]", &[]) == "success");
    chat.wait_until_idle();
    assert_eq!(chat.nvim.lua("return _G.seen[1][1]", &[]), "notes.chat");
    // Nothing of it was on the command line, or is in its history.
    assert_eq!(chat.nvim.messages(), "");
    chat.nvim.lua("_G.seen = {}", &[]);
    chat.nvim.input("GA again<C-]>");
    chat.nvim.wait_for("a message", |nvim| nvim.lua("return _G.seen[1] and _G.seen[1][2]", &[]) == "running");
    let cancel = "vim.api.nvim_echo({ { 'stop' } }, false, { id = _G.id, kind = 'progress', source = 'flemma', status = 'cancel' })";
    chat.nvim.lua(cancel, &[]);
    chat.wait_until_idle();
    assert!(said(&mut chat.nvim).contains("request cancelled"));
    chat.nvim.wait_for("the end", |nvim| nvim.lua("return _G.seen[#_G.seen][3]", &[]) == "was cancelled");
}
