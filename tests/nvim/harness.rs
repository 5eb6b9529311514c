//! Tests of the harness that the other tests depend on.

use std::panic::{self, AssertUnwindSafe};

use serde_json::json;

use super::support::{Nvim, Options};

#[test]
fn keys_that_are_typed_arrive_in_the_buffer_and_on_the_screen() {
    let mut nvim = Nvim::start(&Options::default());
    nvim.input("i");
    nvim.type_text("a <Tag> and 漢字\nsecond");
    nvim.input("<Esc>");
    nvim.wait_for("the typed lines", |nvim| nvim.lines(0) == ["a <Tag> and 漢字", "second"] && nvim.mode() == "n");
    nvim.wait_for_screen("second");
    assert_eq!(nvim.screen()[..3], ["a <Tag> and 漢字", "second", "~"]);
    assert_eq!(nvim.text(), "a <Tag> and 漢字\nsecond\n");
    assert_eq!(nvim.cursor(), (2, 5));
    assert_eq!(nvim.screen_cursor(), (1, 5));
}

#[test]
fn the_screen_shows_virtual_lines_where_a_user_sees_them() {
    let mut nvim = Nvim::start(&Options {
        files: &[("notes.txt", "one\ntwo\n")],
        arguments: &["notes.txt"],
        ..Options::default()
    });
    nvim.wait_for_screen("two");
    nvim.lua(
        "vim.api.nvim_buf_set_extmark(0, vim.api.nvim_create_namespace('test'), 0, 0, \
         { virt_lines = { { { 'between the lines' } } } })",
        &[],
    );
    nvim.wait_for_screen("between the lines");
    assert_eq!(nvim.screen()[..3], ["one", "between the lines", "two"]);
}

#[test]
fn the_screen_follows_scrolling_in_both_directions() {
    let text: String = (1..=300).map(|line| format!("line {line}\n")).collect();
    let mut nvim = Nvim::start(&Options {
        files: &[("long.txt", &text)],
        arguments: &["long.txt"],
        screen: Some((40, 12)),
        ..Options::default()
    });
    nvim.wait_for_screen("line 1");
    // Neovim draws small scrolls by moving the lines on the screen.
    nvim.input("3<C-e>2<C-e><C-y>");
    nvim.wait_for("the fifth line at the top", |nvim| nvim.screen()[0] == "line 5");
    let expected: Vec<String> = (5..15).map(|line| format!("line {line}")).collect();
    assert_eq!(nvim.screen()[..10], expected);
    nvim.input("G");
    nvim.wait_for("the end", |nvim| nvim.screen()[9] == "line 300");
}

#[test]
fn lua_takes_arguments_and_answers_with_values() {
    let mut nvim = Nvim::start(&Options { screen: None, ..Options::default() });
    let answer = nvim.lua(
        "local a, b = ...; return { sum = a + b.n, list = { 1, 2.5, 'x' }, none = vim.NIL, buffer = vim.bo.buftype }",
        &[json!(2), json!({ "n": 40 })],
    );
    assert_eq!(answer, json!({ "sum": 42, "list": [1, 2.5, "x"], "none": null, "buffer": "" }));
    let buffers = nvim.request("nvim_list_bufs", &[]);
    assert_eq!(buffers, json!([1]), "a handle is a number");
    let error = nvim.try_lua("error('on purpose')", &[]).unwrap_err();
    assert!(error.contains("on purpose"), "{error}");
}

#[test]
fn lua_can_notify_the_test() {
    let mut nvim = Nvim::start(&Options { screen: None, ..Options::default() });
    let channel = nvim.channel();
    nvim.lua("vim.rpcnotify((...), 'tool_finished', 'bash', { ok = true })", &[channel.into()]);
    let mut heard = Vec::new();
    nvim.wait_for("the notification", |nvim| {
        heard.extend(nvim.notifications());
        !heard.is_empty()
    });
    assert_eq!(heard, [("tool_finished".to_owned(), json!(["bash", { "ok": true }]))]);
}

#[test]
fn an_editor_sees_nothing_of_the_machines_configuration() {
    let mut nvim = Nvim::start(&Options {
        init: "vim.g.from_init = 'yes'",
        environment: &[("ANTHROPIC_API_KEY", "test-key")],
        screen: None,
        ..Options::default()
    });
    assert_eq!(nvim.lua("return vim.g.from_init", &[]), "yes");
    assert_eq!(nvim.lua("return vim.env.ANTHROPIC_API_KEY", &[]), "test-key");
    let folders = nvim.lua(
        "return { vim.fn.stdpath('config'), vim.fn.stdpath('data'), vim.fn.stdpath('state'), vim.fn.stdpath('cache'),
                  vim.fn.stdpath('run'), vim.fn.stdpath('log'), vim.env.HOME, vim.fn.getcwd() }",
        &[],
    );
    let home = nvim.folder("");
    let home = home.canonicalize().unwrap();
    for folder in folders.as_array().unwrap() {
        let folder = std::path::Path::new(folder.as_str().unwrap());
        let real = folder.ancestors().find_map(|part| part.canonicalize().ok()).unwrap();
        assert!(real.starts_with(&home), "{} is not in {}", folder.display(), home.display());
    }
    let runtimepath = nvim.lua("return vim.api.nvim_list_runtime_paths()", &[]);
    assert_eq!(runtimepath[0], env!("CARGO_MANIFEST_DIR"), "the plugin comes first");
    assert_eq!(nvim.lua("return vim.env.USER", &[]), json!(null));
}

#[test]
fn a_failure_reports_everything_the_editor_showed() {
    let mut nvim = Nvim::start(&Options::default());
    nvim.input("ithe text<Esc>");
    nvim.lua("vim.notify('the message')", &[]);
    nvim.wait_for_screen("the text");
    let failure = panic::catch_unwind(AssertUnwindSafe(|| nvim.fail("this went wrong"))).unwrap_err();
    let report = failure.downcast_ref::<String>().unwrap();
    for part in ["this went wrong", "---- the screen\nthe text", "the message", "---- the buffer\nthe text"] {
        assert!(report.contains(part), "no `{part}` in:\n{report}");
    }
}

#[test]
fn an_editor_that_waits_for_a_key_is_reported_at_once() {
    let mut nvim = Nvim::start(&Options::default());
    nvim.input(":call input('really? ')<CR>");
    nvim.wait_for_screen("really?");
    nvim.input(":");
    nvim.kill();
    let failure = panic::catch_unwind(AssertUnwindSafe(|| nvim.fail("it is gone"))).unwrap_err();
    let report = failure.downcast_ref::<String>().unwrap();
    assert!(report.contains("really?") && report.contains("Neovim is gone"), "{report}");
}

#[test]
fn an_editor_exits_on_request() {
    let mut nvim = Nvim::start(&Options::default());
    nvim.input(":qall!<CR>");
    nvim.wait_for_exit();
}
