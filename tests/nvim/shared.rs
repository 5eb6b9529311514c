//! One file in two editors.

use std::{fs, path::Path};

use serde_json::json;

use super::{
    chat::{Chat, KEY, Setup, init, prose, said},
    http::Server,
    support::{Nvim, Options},
};

/// Records the questions to the user and answers them.
const ASKED: &str = "asked = {}
    vim.ui.select = function(items, opts, on_choice)
      asked[#asked + 1] = opts.prompt
      on_choice(items[vim.g.choice or 2])
    end";

/// A second editor of the same user, with this file.
fn second(first: &Chat, file: &Path, replies: usize) -> Chat {
    let server = Server::start((0..replies).map(|_| prose(&["from the second"])));
    let init = format!("{}\n{ASKED}", init(&server.base_url(), ""));
    let state = first.nvim.folder("state");
    let nvim = Nvim::start(&Options {
        arguments: &["-n", file.to_str().unwrap()],
        init: &init,
        environment: &[("ANTHROPIC_API_KEY", KEY), ("XDG_STATE_HOME", state.to_str().unwrap())],
        ..Options::default()
    });
    Chat { nvim, server }
}

fn asked(chat: &mut Chat) -> usize {
    chat.nvim.lua("return #asked", &[]).as_u64().unwrap() as usize
}

#[test]
fn a_second_editor_of_a_file_is_told_and_asked_before_it_sends() {
    let mut first = Chat::start(&Setup { lua: ASKED, ..Setup::default() }, [prose(&["from the first"])]);
    // By its own name, by a link, and by a hard link.
    let file = first.nvim.work().join("notes.chat");
    let (link, other) = (first.nvim.work().join("link.chat"), first.nvim.work().join("other.chat"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    fs::hard_link(&file, &other).unwrap();
    first.nvim.command("edit!");
    // The first one continues without a question.
    first.nvim.input("<C-]>");
    first.nvim.wait_for("the answer", |nvim| nvim.text().contains("from the first"));
    assert_eq!(asked(&mut first), 0);

    for file in [&file, &link, &other] {
        let mut chat = second(&first, file, 2);
        chat.nvim.wait_for("the message", |nvim| said(nvim).contains("is also open in another Neovim (process"));
        chat.nvim.lua("vim.g.choice = 1", &[]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the question", |nvim| nvim.lua("return #asked", &[]) == 1);
        chat.wait_until_idle();
        assert_eq!(chat.server.requests().len(), 0, "the user said no");
        chat.nvim.lua("vim.g.choice = 2", &[]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("from the second"));
        chat.wait_until_idle();
        assert_eq!(asked(&mut chat), 2);
        // The answer holds for the session.
        chat.nvim.input("Goagain<Esc><C-]>");
        chat.nvim.wait_for("the second answer", |nvim| nvim.text().matches("from the second").count() == 2);
        assert_eq!(asked(&mut chat), 2);
    }

    // Running a call asks as well. Editors that have ended do not count, however they ended.
    let waiting = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{\"command\":\"echo hi\",\"timeout\":null,\
                   \"label\":null}\n```\n\n@You:\n**Tool Result:** `a`\n\n```flemma:tool status=pending\n```\n";
    let third = first.nvim.work().join("third.chat");
    fs::write(&third, waiting).unwrap();
    first.nvim.command("silent edit! third.chat");
    let mut chat = second(&first, &third, 2);
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("is also open in another Neovim"));
    chat.nvim.lua("vim.g.choice = 1", &[]);
    chat.go_to("Tool Result");
    for keys in [":Flemma tool:approve<CR>", "<M-CR>"] {
        let before = asked(&mut chat);
        chat.nvim.input(keys);
        chat.nvim.wait_for("the question", |nvim| nvim.lua("return #asked", &[]) == json!(before + 1));
        assert!(chat.nvim.text().contains("status=pending"), "{}", chat.nvim.text());
    }
    first.nvim.kill();
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("```\nhi\n```"));
    assert_eq!(asked(&mut chat), 2, "there is nobody else any more");
}
