//! How a conversation ends that is carried on.

use serde_json::json;

use super::desktop::Desktop;
use crate::{
    anthropic::Stream,
    chat::{call, prose, reply},
    http::Reply,
};

/// A tool of the user's that notes each of its calls in the file `effects`.
pub const NOTE: &str = "require('flemma.tools').register('note', {
    description = 'Notes something.',
    input_schema = { type = 'object' },
    approval = 'auto',
    execute = function(input, ctx)
        local file = assert(io.open('effects', 'a'))
        file:write(ctx.call_id .. '\\n')
        file:close()
        return 'noted ' .. (input.what or 'nothing')
    end,
})";

#[test]
fn a_conversation_is_carried_on_until_the_model_has_replied() {
    let replies = [
        call("toolu_1", "note", &json!({ "what": "a" })),
        call("toolu_2", "note", &json!({ "what": "b" })),
        prose(&["fine"]),
    ];
    // Neither option is meant for a conversation that nobody looks at.
    let user =
        Desktop::new("editing = { auto_write = false }, tools = { autopilot = { enabled = false } }", NOTE, replies);
    let said = user.flemma(&["run", "notes.chat"]);
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "notes.chat: done\n", ""));
    let text = user.text("notes.chat");
    assert!(text.contains("noted a") && text.contains("noted b") && text.contains("@Assistant:\nfine\n"), "{text}");
    assert_eq!(user.text("effects"), "toolu_1\ntoolu_2\n");
    assert_eq!(user.server.requests().len(), 3);
    // There is nothing left to do.
    let said = user.flemma(&["run", "notes.chat", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.json()["requests"], 0);
    assert_eq!((user.text("notes.chat"), user.server.requests().len()), (text, 3));
    user.wait_for_neovims_to_exit();
}

#[test]
fn a_failed_request_changes_nothing_and_can_be_repeated() {
    let refused =
        Reply::json(401, &json!({ "type": "error", "error": { "type": "authentication_error", "message": "no" } }));
    let user = Desktop::new("", "", [refused, prose(&["fine"])]);
    let said = user.flemma(&["run", "notes.chat"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
    assert!(said.err.starts_with("flemma: notes.chat: ") && said.err.lines().count() == 1, "{said:?}");
    assert_eq!(user.text("notes.chat"), "@You:\nHello\n");
    let said = user.flemma(&["run", "notes.chat", "--json"]);
    assert_eq!((said.code, said.json()["state"].as_str()), (0, Some("done")));
    assert_eq!(said.json()["requests"], 1);
}

#[test]
fn a_file_that_cannot_be_sent_names_its_line() {
    let user = Desktop::new("", "", []);
    user.put("work/bad.chat", "```json\n{ \"modle\": \"x\" }\n```\n\n@You:\nHello\n");
    let said = user.flemma(&["run", "bad.chat"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("line 1") && said.err.contains("did you mean `model`"), "{said:?}");
    user.put("work/empty.chat", "@You:\n\n");
    let said = user.flemma(&["run", "empty.chat"]);
    assert!(said.code == 1 && said.err.contains("nothing to send"), "{said:?}");
    assert!(user.server.requests().is_empty());
}

#[test]
fn limits_stop_it_and_the_next_run_goes_on() {
    let calls = (1..=3).map(|n| call(&format!("toolu_{n}"), "note", &json!({ "what": n.to_string() })));
    let user = Desktop::new("", NOTE, calls.chain([prose(&["fine"])]));
    let said = user.flemma(&["run", "notes.chat", "--max-turns", "2", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let json = said.json();
    assert_eq!(json["requests"], 2);
    assert!(json["error"].as_str().unwrap().contains("after 2 requests (--max-turns)"), "{json}");
    let said = user.flemma(&["run", "notes.chat"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(user.text("effects"), "toolu_1\ntoolu_2\ntoolu_3\n");
}

#[test]
fn repetition_and_a_reply_that_is_cut_short_are_failures() {
    let calls = (1..=3).map(|n| call(&format!("toolu_{n}"), "note", &json!({ "what": "a" })));
    let user = Desktop::new("", NOTE, calls);
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 1 && said.err.contains("note gave the same result for the same input"), "{said:?}");

    let short = reply(&Stream::new().text(&["not all"]).end("max_tokens"));
    let user = Desktop::new("", "", [short]);
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 1 && said.err.contains("max_tokens"), "{said:?}");
    assert!(user.text("notes.chat").contains("not all"));
}

#[test]
fn the_provider_and_the_model_can_be_chosen_for_one_run() {
    let user = Desktop::new("", "", [prose(&["fine"])]);
    user.put("work/notes.chat", "```json\n{ \"model\": \"of-the-file\" }\n```\n\n@You:\nHello\n");
    let said = user.flemma(&["run", "notes.chat", "--provider", "antropic"]);
    assert!(said.code == 1 && said.err.contains("did you mean `anthropic`"), "{said:?}");
    // The option of the file is not that of whoever runs it.
    assert_eq!(user.flemma(&["run", "notes.chat", "--model", "of-the-run"]).code, 3);
    let said = user.flemma(&["run", "notes.chat", "--model", "of-the-run", "--trust"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(user.server.requests()[0].json()["model"], "of-the-run");
}

#[test]
fn a_neovim_that_cannot_do_it_says_why() {
    let user = Desktop::new("", "", []);
    user.put("config/nvim/init.lua", "vim.opt.runtimepath:prepend('/nowhere')");
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 1 && said.err.contains("Neovim does not have Flemma"), "{said:?}");
    user.put("config/nvim/init.lua", "io.stderr:write('broken by design') os.exit(3)");
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 1 && said.err.contains("broken by design"), "{said:?}");
    user.put("config/flemma/config.toml", "nvim = '/nowhere/nvim'");
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 1 && said.err.contains("/nowhere/nvim was not started: No such file"), "{said:?}");
    user.put("config/flemma/config.toml", "\nnivm = 'x'");
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 1 && said.err.contains("config.toml:2: unknown field `nivm`"), "{said:?}");
    user.wait_for_neovims_to_exit();
}

#[test]
fn names_of_files_are_data() {
    for name in
        ["a b'\"$(touch ran)`touch ran`.chat", "-x.chat", "+q.chat", "a\nb|!touch ran.chat", "%.chat", "é*[a].chat"]
    {
        let user = Desktop::new("", "", [prose(&["fine"])]);
        user.put(&format!("work/{name}"), "@You:\nHello\n");
        let said = user.flemma(&["run", "--json", "--", name]);
        assert_eq!(said.code, 0, "{name}: {said:?}");
        assert!(user.text(name).contains("fine"), "{name}");
        assert!(!user.path("ran").exists());
    }
}
