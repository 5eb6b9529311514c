//! `require("flemma.conversations").show()`.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{
    super::{
        chat::{Chat, Setup, prose, said},
        support::{Nvim, Options},
    },
    FILES, none, show, state_folder, windows,
};

fn start(init: &str) -> Nvim {
    Nvim::start(&Options { files: &FILES, arguments: &["code/src/main.rs"], init, ..Options::default() })
}

fn path(shown: &Value) -> &Path {
    Path::new(shown[0].as_str().unwrap())
}

#[test]
fn a_project_has_one_conversation_in_one_window() {
    let mut nvim = start("");
    let first = show(&mut nvim, &none());
    let folder = state_folder(&nvim, "code");
    assert_eq!(path(&first).parent(), Some(folder.as_path()));
    assert_eq!(first[1], first[2], "it is the current window");
    assert_eq!(nvim.text(), "@You:\n\n");
    assert_eq!(nvim.cursor(), (2, 0));
    assert_eq!(windows(&mut nvim).len(), 2);
    // From the conversation itself, and from another file of the project.
    assert_eq!(show(&mut nvim, &none()), first);
    nvim.command("wincmd p | edit code/README.txt");
    assert_eq!(show(&mut nvim, &none()), first);
    assert_eq!(windows(&mut nvim).len(), 2);
    // A new one takes the window, and is then the one that was used last. What was typed in the first one stays.
    nvim.input("iunsaved words<Esc>");
    nvim.wait_for("the words", |nvim| nvim.text() == "@You:\nunsaved words\n");
    nvim.command("set nohidden");
    let second = show(&mut nvim, &json!({ "new": true, "title": "Größe & Form!" }));
    assert!(path(&second).to_str().unwrap().ends_with("-größe-form.chat"), "{second}");
    assert_eq!(second[1], first[1]);
    assert_eq!(show(&mut nvim, &none())[0], second[0]);
    let again = show(&mut nvim, &json!({ "path": first[0] }));
    assert_eq!((&again[0], &again[1]), (&first[0], &first[1]));
    assert_eq!(nvim.text(), "@You:\nunsaved words\n");
    // A namesake gets a number.
    let third = show(&mut nvim, &json!({ "new": true, "title": "größe form" }));
    assert!(path(&third).to_str().unwrap().ends_with("-größe-form-2.chat"), "{third}");
    // Without being entered.
    nvim.command("wincmd p");
    let code = nvim.lua("return vim.api.nvim_get_current_win()", &[]);
    assert_eq!(show(&mut nvim, &json!({ "enter": false }))[2], code);
    // Another project has others.
    nvim.command("edit other/x.txt");
    let other = show(&mut nvim, &none());
    assert_eq!(path(&other).parent(), Some(state_folder(&nvim, "other").as_path()));
    // Without markers it is the working directory.
    nvim.command("wincmd p | edit free.txt");
    let free = show(&mut nvim, &none());
    assert_eq!(path(&free).parent(), Some(state_folder(&nvim, "").as_path()));
    assert_eq!(nvim.messages(), "");
    // Nothing was written.
    assert!(
        fs::read_dir(&folder).unwrap().flatten().all(|file| !file.file_name().to_str().unwrap().ends_with(".chat"))
    );
}

#[test]
fn the_conversation_used_last_is_found_again_next_time() {
    let mut chat = Chat::start(&Setup { files: &FILES, ..Setup::default() }, [prose(&["Hi."])]);
    let nvim = &mut chat.nvim;
    nvim.command("edit code/src/main.rs");
    let first = show(nvim, &json!({ "new": true, "title": "first" }));
    nvim.input("ifirst words<Esc>:write<CR>");
    nvim.wait_for("the first file", |_| path(&first).is_file());
    let second = show(nvim, &json!({ "new": true, "title": "second" }));
    nvim.input("isecond words<Esc><C-]>");
    let file = path(&second).to_owned();
    nvim.wait_for("the reply in the file", |_| fs::read_to_string(&file).is_ok_and(|text| text.contains("Hi.")));
    // One that was never written is not.
    show(nvim, &json!({ "new": true, "title": "third" }));
    nvim.command("messages clear");
    let note = state_folder(nvim, "code").join(".last");
    nvim.wait_for("the note", |_| fs::read_to_string(&note).is_ok_and(|note| Path::new(note.trim()) == file));
    let code = nvim.work().join("code/src/main.rs");
    nvim.input(":qall!<CR>");
    nvim.wait_for_exit();
    let mut next = Chat::another(&chat, &code, ("", ""), []);
    assert_eq!(show(&mut next.nvim, &none())[0], second[0]);
    assert!(next.nvim.text().contains("\n@You:\nsecond words\n"));
    // Once it is gone, a new one begins.
    next.nvim.command("bwipeout! | edit .");
    fs::remove_file(&file).unwrap();
    next.nvim.command(&format!("edit {}", code.display()));
    let new = show(&mut next.nvim, &none());
    assert_ne!(new[0], second[0]);
    assert_eq!(next.nvim.text(), "@You:\n\n");
}

#[test]
fn paths_of_a_projects_conversation_start_at_its_root() {
    let call = super::super::chat::call(
        "a",
        "read",
        &json!({ "path": "src/main.rs", "offset": null, "limit": null, "label": null }),
    );
    for options in ["", "conversations = { folder = './.chats/mine' }"] {
        let mut chat =
            Chat::start(&Setup { files: &FILES, options, ..Setup::default() }, [call.clone(), prose(&["Done."])]);
        let nvim = &mut chat.nvim;
        nvim.command("edit code/README.txt");
        let shown = show(nvim, &none());
        if !options.is_empty() {
            assert_eq!(path(&shown).parent(), Some(nvim.work().join("code/.chats/mine").as_path()));
        }
        let base = nvim.lua("return require('flemma.conversations').base(0)", &[]);
        assert_eq!(base, nvim.work().join("code").to_str().unwrap());
        nvim.input("iLook at @./README.txt<Esc><C-]>");
        nvim.wait_for("the reply", |nvim| nvim.text().contains("Done."));
        assert!(nvim.text().contains("fn main() {}"), "{}", nvim.text());
        let sent = chat.messages(0).to_string();
        assert!(sent.contains("# Code"), "{sent}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let files = [FILES[0], FILES[1], ("code/.chats", "a file")];
    let init = "require('flemma').setup({ conversations = { folder = '.chats' } })";
    let mut nvim =
        Nvim::start(&Options { files: &files, arguments: &["code/src/main.rs"], init, ..Options::default() });
    let shown = show(&mut nvim, &none());
    assert_eq!(shown[0], json!(null));
    let problem = shown[1].as_str().unwrap();
    assert!(
        problem.contains("code/.chats, cannot be written: ") && problem.contains("conversations.folder"),
        "{problem}"
    );
    nvim.wait_for("the message", |nvim| said(nvim).contains("cannot be written"));
    assert_eq!(windows(&mut nvim), ["main.rs"]);
    assert_eq!(nvim.text(), "fn main() {}\n");
    assert_eq!(nvim.file("code/.chats"), "a file");
}

#[test]
fn a_disk_that_does_not_answer_holds_nobody_up() {
    let mut nvim = start("");
    let folder = state_folder(&nvim, "code");
    fs::create_dir_all(&folder).unwrap();
    // Whoever reads this waits for somebody who writes to it, as for a share that is gone.
    assert!(std::process::Command::new("mkfifo").arg(folder.join(".last")).status().unwrap().success());
    nvim.command("Flemma toggle");
    nvim.wait_for("the message", |nvim| said(nvim).contains("does not answer. Try again when it does."));
    assert_eq!(windows(&mut nvim), ["main.rs"], "nothing is shown");
    let told = show(&mut nvim, &none());
    assert!(told[0].is_null() && told[1].as_str().unwrap().contains("does not answer"), "{told}");
    // What does not need it works, and so does leaving.
    nvim.command("Flemma new without it");
    assert_eq!(nvim.text(), "@You:\n\n");
    nvim.input(":qall!<CR>");
    nvim.wait_for_exit();
}
