//! The files that a conversation names: those that a stranger put there are sent only if the user allows it.

use std::{cell::RefCell, path::PathBuf, rc::Rc};

use base64::{Engine, prelude::BASE64_STANDARD};
use flemma_runtime::trust::Trusted;
use flemma_workspace::{LuaFile, ports::Question};
use serde_json::json;

use crate::http::Reply;

use super::{
    harness::{Harness, Setup, calls, commands, prose},
    scripts::text,
};

/// A conversation that names files, and the folder beside its own with files in it.
fn naming(text: &str, replies: usize) -> Harness {
    let files =
        &[("../near/a.txt", "the first secret\n"), ("../near/b.txt", "the second secret\n"), ("in.txt", "open\n")];
    Harness::start(Setup { text, files, ..Setup::default() }, (0..replies).map(|_| prose("ok")))
}

fn files(question: Question) -> Vec<String> {
    let Question::Files { files, .. } = question else { panic!("{question:?}") };
    files.iter().map(|file| file.rsplit('/').next().unwrap().to_owned()).collect()
}

#[test]
fn files_outside_the_folder_need_the_users_word() {
    let chat = naming("@You:\nSee @../near/a.txt and @./in.txt", 2);
    chat.go();
    let question = chat.wait_for_question();
    assert!(matches!(question, Question::Files { line: 1, .. }), "{question:?}");
    assert_eq!(files(question), ["a.txt"]);
    chat.answer(false);
    assert_eq!(chat.sent(), 0);
    chat.go();
    chat.wait_for_question();
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    let sent = chat.words(0);
    assert!(sent.contains("the first secret") && sent.contains("open"), "{sent}");
    // Once allowed, now and later.
    chat.type_below("Again");
    chat.go();
    chat.wait_for("Again\n\n@Assistant:\nok");
    chat.wait_for_disk(&chat.state("trust.jsonl"), "\"about\":\"file\"");
    let chat = chat.restart(Setup { text: "@You:\nSee @../near/a.txt", ..Setup::default() }, [prose("later")]);
    chat.go();
    chat.wait_for("@Assistant:\nlater");
    assert!(chat.words(0).contains("the first secret"));
    assert_eq!(chat.questions(), 0);
}

#[test]
fn a_file_that_comes_while_the_user_is_asked_is_asked_about() {
    let chat = naming("@You:\nSee @../near/a.txt", 1);
    chat.go();
    assert_eq!(files(chat.wait_for_question()), ["a.txt"]);
    chat.read_in(2, "and @../near/b.txt");
    chat.answer(true);
    assert_eq!(files(chat.wait_for_question()), ["b.txt"]);
    assert_eq!(chat.sent(), 0);
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    let sent = chat.words(0);
    assert!(sent.contains("the first secret") && sent.contains("the second secret"), "{sent}");
}

#[test]
fn code_that_comes_while_the_user_is_asked_is_asked_about() {
    let chat = naming("@You:\nSee @../near/a.txt", 1);
    chat.go();
    assert_eq!(files(chat.wait_for_question()), ["a.txt"]);
    chat.read_in(0, "```lua\nflemma.opt.model = \"theirs\"\n```\n");
    chat.answer(true);
    assert_eq!(chat.wait_for_question(), Question::Frontmatter { language: "lua".to_owned() });
    assert!(chat.scripts.ran.borrow().is_empty());
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    assert_eq!(chat.body(0)["model"], json!("theirs"));
}

/// A conversation that names a file of its own folder, which is hidden in the folder `far`.
fn moving(also: &str, replies: usize) -> Harness {
    let chat = naming(&format!("@You:\nSee @./sub/a.txt {also}"), replies);
    chat.put("sub/a.txt", "a file of this folder\n");
    chat.put("far/.sub/a.txt", "a hidden secret\n");
    std::os::unix::fs::symlink(".sub", chat.work("far/sub")).unwrap();
    chat
}

#[test]
fn what_was_located_in_one_folder_vets_nothing_in_another() {
    let chat = moving("@../near/a.txt", 1);
    chat.go();
    chat.wait_for_question();
    chat.answer(false);
    // The disk is asked from the first folder, and its answer arrives in the second one.
    chat.go();
    chat.save_as("far/notes.chat");
    assert_eq!(files(chat.wait_for_question()), ["a.txt"]);
    chat.answer(true);
    let question = chat.wait_for_question();
    let Question::Files { files, .. } = &question else { panic!("{question:?}") };
    assert!(files.iter().any(|file| file.ends_with("far/.sub/a.txt")), "{files:?}");
    assert_eq!(chat.sent(), 0);
}

#[test]
fn a_conversation_in_another_folder_is_vetted_again() {
    let chat = moving("", 2);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(chat.words(0).contains("a file of this folder"));
    chat.save_as("far/notes.chat");
    chat.type_below("Again");
    chat.go();
    let question = chat.wait_for_question();
    assert_eq!(files(question), ["a.txt"]);
    assert_eq!(chat.sent(), 1);
}

/// A PNG of one white pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==";

#[test]
fn a_file_of_another_folder_is_withheld_within_a_turn() {
    let options = json!({ "tools": { "auto_approve": ["slow"] } });
    let chat = moving("", 0);
    chat.set_up(options, None).unwrap();
    let answers = Rc::new(RefCell::new(None));
    let later = Rc::clone(&answers);
    chat.register("slow", move |_, answer| {
        *later.borrow_mut() = Some(answer);
        None
    });
    chat.server.push(calls([("slow", json!({}))]));
    chat.server.push(prose("ok"));
    chat.go();
    chat.drain_until("the tool", |_| answers.borrow().is_some());
    assert!(chat.words(0).contains("a file of this folder"));
    // From here the reference names another file. The turn goes on without a key, so nobody is asked about it.
    chat.save_as("far/notes.chat");
    answers.take().unwrap().finish(text("done"));
    chat.wait_for("@Assistant:\nok");
    let sent = chat.words(1);
    assert!(!sent.contains("a hidden secret") && !sent.contains("a file of this folder"), "{sent}");
    chat.wait_for_words("is not shown to the model: it was named in the file before you opened it");
    assert_eq!(chat.questions(), 0);
}

#[test]
fn an_image_is_sent_in_every_turn_until_its_file_is_gone() {
    let input = json!({ "label": null, "path": "pic.png", "offset": null, "limit": null });
    let replies = [calls([("read", input)]), prose("white"), prose("still"), prose("gone")];
    let chat = Harness::new("@You:\nHello", replies);
    chat.put("pic.png", BASE64_STANDARD.decode(PIXEL).unwrap());
    chat.go();
    chat.wait_for("@Assistant:\nwhite");
    let path = chat.work("pic.png");
    let fence = format!("```flemma:attachment type=image/png path=\"{}\"\n", path.display());
    let shown = "pic.png: PNG image, 1x1 pixels, 67 B";
    assert!(chat.text().contains(&format!("{fence}{shown}\n```\n")), "{}", chat.text());
    chat.type_below("and now?");
    chat.go();
    chat.wait_for("@Assistant:\nstill");
    for n in 1..=2 {
        let body = chat.body(n)["messages"].to_string();
        assert!(body.contains(&format!("data:image/png;base64,{PIXEL}")), "{body}");
        assert_eq!(chat.results(n), [shown]);
    }
    assert_eq!((chat.told(), chat.questions()), (Vec::new(), 0));

    std::fs::remove_file(&path).unwrap();
    chat.type_below("and now?");
    chat.go();
    chat.wait_for("@Assistant:\ngone");
    let why = "it no longer exists";
    let left_out = format!("{shown}\n\n[{} was left out of this request: {why}.]", path.display());
    assert_eq!(chat.results(3), [left_out]);
    chat.wait_for_words(&format!("is not shown to the model: {why}"));
    let diagnostics = chat.buffer().diagnostics.borrow().clone();
    assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
    assert!(chat.buffer().lines()[diagnostics[0].line].starts_with("```flemma:attachment"), "{diagnostics:?}");
}

#[test]
fn a_result_of_a_script_shows_images_and_says_what_it_cannot() {
    let options = json!({ "tools": { "auto_approve": ["mine", "!read(**/hidden*)"] } });
    let replies = [calls([("mine", json!({}))]), prose("fine")];
    let chat = Harness::start(Setup { options, files: &[("words.txt", "words\n")], ..Setup::default() }, replies);
    let pixel = BASE64_STANDARD.decode(PIXEL).unwrap();
    chat.put("pic.png", &pixel);
    chat.put("hidden.png", &pixel);
    let data = pixel.clone();
    chat.register("mine", move |_, answer| {
        let path = |name: &str| LuaFile::Path(name.into());
        let files = vec![
            path("pic.png"),
            LuaFile::Data(data.clone()),
            path("words.txt"),
            path("hidden.png"),
            path("hiddem.png"),
            path("."),
            LuaFile::Data(b"words".to_vec()),
        ];
        answer.finish(text("two of them").showing(files));
        None
    });
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let body = chat.body(1)["messages"].to_string();
    assert_eq!(body.matches(&format!("data:image/png;base64,{PIXEL}")).count(), 2, "{body}");
    let result = chat.results(1).remove(0);
    let (before, rest) = result.split_once("\n/").unwrap();
    assert_eq!(before, "two of them\n\npic.png: PNG image, 1x1 pixels, 67 B");
    let (saved, problems) = rest.split_once("\n\n").unwrap();
    assert!(saved.contains("/mine-") && saved.contains(".output.png: PNG image"), "{saved}");
    assert_eq!(
        problems,
        "[words.txt is not a PNG, JPEG, GIF or WebP image or a PDF.]\n\
         [hidden.png may not be read: a rule of the user denies it.]\n\
         [hiddem.png does not exist. Its folder contains `pic.png`.]\n\
         [. is a directory. List it with `ls`.]\n\
         [Attachment 7 is not a PNG, JPEG, GIF or WebP image or a PDF.]"
    );
    assert_eq!((chat.told(), chat.questions()), (Vec::new(), 0));
}

#[test]
fn a_result_that_only_shows_a_missing_file_is_an_error() {
    let options = json!({ "tools": { "auto_approve": ["mine"] } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls([("mine", json!({}))]), prose("fine")]);
    chat.register("mine", |_, answer| {
        answer.finish(text("").showing(vec![LuaFile::Path("none.png".into())]));
        None
    });
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["Error: [none.png does not exist.]"]);
}

#[test]
fn a_reference_that_a_reply_is_put_behind_stays_foreign() {
    let chat = moving("", 1);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    chat.save_as("far/notes.chat");
    // What the user types is theirs from then on, when it is saved.
    chat.type_below("@../../near/b.txt");
    chat.write();
    chat.wait_for_disk(&chat.state("trust.jsonl"), "\"about\":\"file\"");
    let trusted = Trusted::read(&chat.state("trust.jsonl")).unwrap();
    let path = chat.work("far/notes.chat");
    let holds = |file: PathBuf| trusted.contains_file(path.to_str().unwrap(), &file.canonicalize().unwrap());
    assert!(holds(chat.work("../near/b.txt")));
    assert!(!holds(chat.work("far/.sub/a.txt")), "the user has neither typed nor allowed it");
}

#[test]
fn a_vetted_file_is_sent_in_every_request_of_a_turn() {
    let options = json!({ "tools": { "auto_approve": ["bash"] } });
    let setup = Setup { text: "@You:\nSee @./in.txt", files: &[("in.txt", "open\n")], options, ..Setup::default() };
    let chat = Harness::start(setup, [commands(&["true"]), prose("ok")]);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    for n in 0..2 {
        assert!(chat.words(n).contains("open"), "{}", chat.words(n));
    }
}

#[test]
fn a_refused_image_is_noted_and_the_conversation_goes_on() {
    let input = json!({ "label": null, "path": "pic.png", "offset": null, "limit": null });
    let why = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj";
    let refusal = Reply::json(500, &json!({ "error": { "code": 500, "message": why, "type": "server_error" } }));
    let chat = Harness::new("@You:\nHello", [calls([("read", input)]), refusal, prose("black")]);
    chat.put("pic.png", BASE64_STANDARD.decode(PIXEL).unwrap());
    chat.put("mine.png", BASE64_STANDARD.decode(PIXEL).unwrap());
    chat.type_below("See @./mine.png");
    chat.go();
    chat.wait_for_words("which are left out from now on");
    let (host, path) = (chat.server.host(), chat.work("pic.png"));
    let reason = format!("{host} with the model qwen3 takes no images or PDFs");
    let note = |name: &str| format!("```flemma:captured of=\"@./{name}\"\n[./{name} was left out: {reason}]\n```");
    let fence = format!("```flemma:attachment type=image/png path=\"{}\" left_out=\"{reason}\"\n", path.display());
    assert!(chat.text().contains(&note("mine.png")), "{}", chat.text());
    assert!(chat.text().contains(&fence), "{}", chat.text());
    // The key that sends is all that it takes.
    chat.go();
    chat.wait_for("@Assistant:\nblack");
    assert!(chat.body(1).to_string().contains("data:image/png"));
    let sent = chat.body(2)["messages"].to_string();
    assert!(!sent.contains("data:image/png") && sent.contains("takes no images or PDFs"), "{sent}");
    // Another one is not even tried in this session.
    chat.put("more.png", BASE64_STANDARD.decode(PIXEL).unwrap());
    chat.type_below("And @./more.png");
    chat.server.push(prose("dark"));
    chat.go();
    chat.wait_for_words("more.png is not shown to the model");
    chat.wait_for("@Assistant:\ndark");
}

#[test]
fn a_note_in_the_place_of_an_image_outlives_the_session() {
    let reason = "h takes no images";
    let text = format!(
        "@You:\nSee @./mine.png\n\n```flemma:captured of=\"@./mine.png\"\n[./mine.png was left out: {reason}]\n```"
    );
    let chat = Harness::new(&text, [prose("ok")]);
    chat.put("mine.png", BASE64_STANDARD.decode(PIXEL).unwrap());
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(!chat.body(0).to_string().contains("data:image/png"));
    assert!(chat.words(0).contains("was left out: h takes no images"), "{}", chat.words(0));
}

#[test]
fn a_refused_field_is_not_in_the_next_request() {
    let options = json!({ "parameters": { "temperature": 0.5 } });
    let why = "Unsupported value: 'temperature' does not support 0.5 with this model.";
    let refusal = Reply::json(400, &json!({ "error": { "message": why, "code": "unsupported_value" } }));
    let chat = Harness::start(Setup { options, ..Setup::default() }, [refusal, prose("fine"), prose("again")]);
    chat.go();
    chat.wait_for_words("it does not take `temperature`, which is left out from now on");
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    chat.type_below("And now?");
    chat.go();
    chat.wait_for("@Assistant:\nagain");
    let temperature = |n: usize| chat.body(n).get("temperature").cloned();
    assert_eq!([temperature(0), temperature(1), temperature(2)], [Some(json!(0.5)), None, None]);
}
