//! Forms: questions that a call asks the user, with prompts that answer at once, later, twice or never.

use serde_json::{Value, json};

use super::{
    chat::{Chat, Setup, call, prose, said},
    support::Nvim,
};

/// Prompts that wait: each is kept in `prompts` until `reply` answers it.
const LATER: &str = "_G.own_input = vim.ui.input
    _G.prompts, _G.answers, _G.outcome = {}, {}, true
    vim.ui.select = function(items, opts, on_choice)
      table.insert(prompts, { kind = 'select', items = items, prompt = opts.prompt, answer = on_choice })
    end
    vim.ui.input = function(opts, on_confirm)
      table.insert(prompts, { kind = 'input', prompt = opts.prompt, default = opts.default, answer = on_confirm })
    end
    _G.open = function()
      require('flemma.form').open(vim.fn.bufnr('notes.chat'), 'toolu_1', function(answer, done)
        table.insert(answers, vim.json.decode(answer))
        if outcome == true then return done(true) end
        vim.schedule(function() done(nil, outcome) end)
      end)
    end
    _G.choose = function(item)
      local prompt = prompts[#prompts]
      local index
      for at, own in ipairs(prompt.items or {}) do if own == item then index = at end end
      prompt.answer(item, index)
    end";

/// A conversation with a call that waits for an answer.
fn waiting(tool: &str, input: &Value, lua: &str) -> Chat {
    let lua = format!("{LATER}\n{lua}");
    let mut chat = Chat::start(&Setup { lua: &lua, ..Setup::default() }, [call("toolu_1", tool, input)]);
    chat.send_until("flemma:tool status=");
    chat
}

fn asking(input: &Value) -> Chat {
    waiting("ask_user", input, "")
}

fn colours() -> Value {
    json!({ "question": "Which colour?", "options": ["red", "green"], "default": "green" })
}

/// The prompts so far, without their functions.
fn prompts(chat: &mut Chat) -> Value {
    chat.nvim.lua(
        "return vim.tbl_map(function(prompt)
           return { kind = prompt.kind, items = prompt.items, prompt = prompt.prompt, default = prompt.default }
         end, prompts)",
        &[],
    )
}

fn answers(chat: &mut Chat) -> Value {
    chat.nvim.lua("return answers", &[])
}

#[test]
fn a_question_with_options_is_asked_once_and_answered_once() {
    let mut chat = asking(&colours());
    chat.nvim.wait_for_screen(" ? ask_user Which colour?  (1: red, 2: green)");
    chat.nvim.lua("open()", &[]);
    let asked = json!([{ "kind": "select", "items": ["red", "green (default)", "something else…"], "prompt": "ask_user: Which colour?" }]);
    assert_eq!(prompts(&mut chat), asked);
    chat.nvim.lua("choose('green (default)'); choose('red')", &[]);
    assert_eq!(answers(&mut chat), json!(["green"]), "a second answer of the same prompt has no effect");
}

#[test]
fn a_cancelled_prompt_says_nothing_and_others_still_ask() {
    let mut chat = asking(&json!({ "question": "Which colour?", "options": ["red"], "default": "blue" }));
    let before = chat.nvim.messages();
    for (at, cancel) in ["choose(nil)", "choose('something else…'); choose(nil)"].iter().enumerate() {
        chat.nvim.lua(&format!("prompts = {{}}; open(); {cancel}"), &[]);
        assert_eq!(prompts(&mut chat).as_array().unwrap().len(), at + 1);
    }
    assert_eq!(chat.nvim.messages(), before);
    assert!(chat.nvim.text().contains("status=pending"));
    chat.nvim.lua("prompts = {}; open(); choose('something else…')", &[]);
    assert_eq!(
        prompts(&mut chat)[1],
        json!({ "kind": "input", "prompt": "ask_user: Which colour? ", "default": "blue" }),
        "a default that is not an option is the text to start with"
    );
    // An empty answer is none: the prompt comes again, and says why.
    chat.nvim.lua("choose('  ')", &[]);
    assert_eq!(answers(&mut chat), json!([]));
    assert_eq!(prompts(&mut chat)[2]["kind"], "select");
    chat.nvim.lua("choose('something else…'); choose('teal, or cyan')", &[]);
    assert_eq!(answers(&mut chat), json!(["teal, or cyan"]));
}

#[test]
fn prompts_may_answer_at_once() {
    let mut chat = asking(&colours());
    chat.nvim.lua(
        "vim.ui.select = function(items, _, on_choice) on_choice(items[#items]) end
         vim.ui.input = function(_, on_confirm) on_confirm('black') end
         open()",
        &[],
    );
    assert_eq!(answers(&mut chat), json!(["black"]), "an item without its index counts as well");
}

/// A tool with a form of several fields.
const RELEASE: &str = "require('flemma.tools').register('release', {
    description = 'Have a release approved.', executor = 'human',
    input_schema = { type = 'object', properties = { version = { type = 'string' } } },
    result_schema = { type = 'object', required = { 'version', 'channel' }, properties = {
      version = { type = 'string', title = 'Version', pattern = '^\\\\d+$', default = '1' },
      channel = { enum = { 'stable', 'beta' } },
      copies = { type = 'integer', minimum = 1 },
      places = { type = 'array' },
    } },
  })";

#[test]
fn a_form_asks_for_each_field_and_again_for_a_wrong_one() {
    let mut chat = waiting("release", &json!({ "version": "2" }), RELEASE);
    // Whoever leaves it after the first field hears that nothing was sent, and what they typed is kept.
    chat.nvim.lua("open(); choose('12'); choose(nil)", &[]);
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("release (toolu_1): not answered: you left its form"));
    assert_eq!((chat.nvim.lua("return vim.fn.getreg('-')", &[]), answers(&mut chat)), (json!("12"), json!([])));
    chat.nvim.lua("prompts = {}; open()", &[]);
    let first = json!({ "kind": "input", "prompt": "release: version=\"2\"  Version ", "default": "1" });
    assert_eq!(prompts(&mut chat), json!([first]));
    chat.nvim.lua("choose('two')", &[]);
    let again = &prompts(&mut chat)[1];
    assert_eq!(again["default"], "two", "what was typed can be corrected");
    assert!(again["prompt"].as_str().unwrap().contains("[Version: expected text that matches `^\\d+$`"), "{again}");
    chat.nvim.lua("choose('2'); choose('beta')", &[]);
    assert_eq!(prompts(&mut chat)[3]["prompt"], "release: version=\"2\"  copies (optional) ");
    chat.nvim.lua("choose('0')", &[]);
    assert!(
        prompts(&mut chat)[4]["prompt"].as_str().unwrap().contains("expected at least 1"),
        "{}",
        prompts(&mut chat)
    );
    chat.nvim.lua("choose(''); choose('[]')", &[]);
    assert_eq!(answers(&mut chat), json!([{ "version": "2", "channel": "beta", "places": [] }]));
}

#[test]
fn an_answer_to_a_call_that_is_over_is_stale() {
    // What happens while the prompt is open, and what is said of the late answer.
    let late = "not answered: the call does not wait for an answer any more";
    let changed = "not answered: the question has changed; open the form again";
    let closed = "not answered: the conversation was closed";
    let table = [
        ("vim.cmd('%s/status=pending/status=rejected/')", late),
        ("vim.cmd('%s/Which/What/')", changed),
        ("vim.cmd('%delete')", "not answered: the call is no longer in the conversation"),
        ("vim.cmd('bwipeout! notes.chat')", closed),
        ("vim.bo.filetype = 'text'", closed),
        ("outcome = 'stale'", late),
        ("outcome = 'the disk is full'", "not answered: the disk is full"),
        ("outcome = nil", "not answered: it is not known why"),
    ];
    for (event, words) in table {
        let mut chat = asking(&colours());
        chat.nvim.lua("open()", &[]);
        chat.nvim.lua(event, &[]);
        chat.nvim.lua("choose('red')", &[]);
        chat.nvim.wait_for(event, |nvim| said(nvim).contains(&format!("ask_user (toolu_1): {words}")));
        let reached = event.starts_with("outcome");
        assert_eq!(answers(&mut chat), if reached { json!(["red"]) } else { json!([]) }, "{event}");
    }
}

/// A picker in a float, as plugins have them.
const FLOAT: &str = "_G.float = nil
    vim.ui.select = function(items, opts, on_choice)
      vim.schedule(function()
        local buf = vim.api.nvim_create_buf(false, true)
        vim.api.nvim_buf_set_lines(buf, 0, -1, false, items)
        float = vim.api.nvim_open_win(buf, true, { relative = 'editor', row = 2, col = 2, width = 30, height = 5 })
        table.insert(prompts, { kind = 'select', items = items, prompt = opts.prompt, answer = on_choice })
      end)
    end";

#[test]
fn a_picker_stays_open_when_the_call_has_its_result() {
    let mut chat = waiting("ask_user", &colours(), FLOAT);
    chat.nvim.lua("open()", &[]);
    chat.nvim.wait_for("the picker", |nvim| nvim.lua("return #prompts == 1 and float ~= nil", &[]) == true);
    chat.nvim.lua("require('flemma.tools').resolve('notes.chat', 'toolu_1', 'green')", &[]);
    let why = "a plugin or another program has answered the call";
    chat.nvim.wait_for("a message", |nvim| {
        said(nvim).contains(&format!("ask_user (toolu_1): {why}; an answer in the open form is not sent any more"))
    });
    assert_eq!(chat.nvim.lua("return vim.api.nvim_get_current_win() == float", &[]), true, "the user stays in it");
    chat.nvim.lua("choose('red')", &[]);
    chat.nvim.wait_for("a message", |nvim| said(nvim).contains(&format!("ask_user (toolu_1): not answered: {why}")));
    assert_eq!(answers(&mut chat), json!([]));
}

#[test]
fn a_late_answer_is_told_what_the_user_has_done_meanwhile() {
    let ways: [(Act, &str); 2] = [
        (
            &|chat| chat.nvim.command("call search('status=pending') | Flemma tool:reject"),
            "the call was rejected or cancelled",
        ),
        (&|chat| chat.nvim.input("gg/status=pending<CR>ored<Esc><M-CR>"), "you have answered the call already"),
    ];
    for (act, why) in ways {
        let replies = [call("toolu_1", "ask_user", &colours()), prose(&["fine"])];
        let mut chat = Chat::start(&Setup { lua: LATER, ..Setup::default() }, replies);
        chat.send_until("flemma:tool status=");
        chat.nvim.lua("open()", &[]);
        act(&mut chat);
        chat.nvim.wait_for("the result", |nvim| !nvim.text().contains("status=pending"));
        chat.nvim.lua("choose('red')", &[]);
        let words = format!("ask_user (toolu_1): not answered: {why}");
        chat.nvim.wait_for(&words, |nvim| said(nvim).contains(&words));
        assert_eq!(answers(&mut chat), json!([]));
    }
}

/// Opens the form, waits for Neovim's own prompt, types, lets something happen, and types the rest.
fn type_around(chat: &mut Chat, first: &str, happens: impl FnOnce(&mut Chat), rest: &str) {
    chat.go_to("status=pending");
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the prompt", |nvim| nvim.mode() == "c");
    chat.nvim.type_text(first);
    chat.nvim.wait_for_screen(first.trim_end());
    happens(chat);
    chat.nvim.type_text(rest);
    chat.nvim.wait_for("normal mode", |nvim| nvim.mode() == "n");
}

#[test]
fn what_is_typed_for_a_call_that_is_over_is_kept() {
    type Happens = fn(&mut Chat);
    let ways: [(&str, Happens, &str); 4] = [
        (
            "",
            // The clock has not been read since.
            |chat| chat.nvim.command("silent %s/expires=2[0-9]*/expires=2001/"),
            "its deadline has passed",
        ),
        (
            "tools = { ask_user = { timeout = 5 } }",
            |chat| chat.nvim.wait_for("the deadline", |nvim| nvim.text().contains("did not respond in time")),
            "its deadline has passed",
        ),
        (
            "",
            |chat| {
                chat.nvim.lua("require('flemma.tools').resolve('notes.chat', 'toolu_1', 'green')", &[]);
                chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nfine"));
            },
            "a plugin or another program has answered the call",
        ),
        (
            "",
            |chat| {
                chat.nvim.lua(
                    "require('flemma.tools').resolve('notes.chat', 'toolu_1', { approved = false, message = 'no' })",
                    &[],
                );
                chat.nvim.wait_for("the rejection", |nvim| nvim.text().contains("(error)"));
            },
            "a plugin or another program has answered the call",
        ),
    ];
    for (options, happens, why) in ways {
        let replies = [call("toolu_1", "ask_user", &json!({ "question": "A name?" })), prose(&["fine"])];
        let mut chat = Chat::start(&Setup { options, ..Setup::default() }, replies);
        chat.nvim.lua("vim.fn.setreg('\"', 'yanked')", &[]);
        // The last lines of the screen after each part of a message.
        chat.nvim.lua(
            "_G.shown = {}
             local echo = vim.api.nvim_echo
             vim.api.nvim_echo = function(...)
               echo(...)
               for row = vim.o.lines - 3, vim.o.lines do
                 local cells = {}
                 for column = 1, vim.o.columns do cells[column] = vim.fn.screenstring(row, column) end
                 table.insert(shown, vim.trim(table.concat(cells)))
               end
             end",
            &[],
        );
        chat.send_until("flemma:tool status=");
        let mut before = String::new();
        type_around(
            &mut chat,
            "ggdG and ",
            |chat| {
                happens(chat);
                before = chat.nvim.text();
            },
            "dd more\n",
        );
        let words = format!("ask_user (toolu_1): not answered: {why}. Your text is in register -: \"-p puts it");
        chat.nvim.wait_for("a message", |nvim| said(nvim).contains(&words));
        let shown = chat.nvim.lua("return shown", &[]).to_string();
        assert!(shown.contains("not answered") && !shown.contains("dd more"), "a line of its own: {shown}");
        let kept = before.lines().take(7).collect::<Vec<_>>();
        assert!(kept.len() == 7, "{before}");
        assert!(chat.nvim.text().starts_with(&kept.join("\n")), "no key was taken for a command: {}", chat.nvim.text());
        assert_eq!(chat.nvim.lua("return vim.fn.getreg('-')", &[]), "ggdG and dd more");
        assert_eq!(chat.nvim.lua("return vim.fn.getreg('\"')", &[]), "yanked");
    }
}

#[test]
fn a_default_types_no_keys() {
    let input = json!({ "question": "A name?", "default": "a\u{12}=execute('let g:ran = 1')\n\u{1c}\u{e}b\tc" });
    let mut chat = waiting("ask_user", &input, "vim.ui.input = own_input");
    chat.go_to("status=pending");
    chat.nvim.request("nvim_input", &[":lua open()<CR>".into()]);
    chat.nvim.wait_for_screen("ask_user: A name? a =execute('let g:ran = 1')   b c");
    chat.nvim.input("<CR>");
    chat.nvim
        .wait_for("the answer", |nvim| nvim.lua("return answers", &[]) == json!(["a =execute('let g:ran = 1')   b c"]));
    assert_eq!(chat.nvim.lua("return vim.g.ran", &[]), Value::Null);
}

/// A tool with optional choices.
const SURVEY: &str = "require('flemma.tools').register('survey', {
    description = 'Ask the user.', executor = 'human', input_schema = { type = 'object', properties = vim.empty_dict() },
    result_schema = { type = 'object', properties = {
      again = { type = 'boolean' }, number = { type = 'integer' }, size = { enum = { 'S', 'M' } },
    } },
  })";

#[test]
fn an_optional_choice_is_left_out_by_its_own_entry() {
    let lua = format!("vim.ui.select, vim.ui.input = own_select, own_input\n{SURVEY}");
    let mut chat = waiting("survey", &json!({}), &format!("_G.own_select = nil\n{SURVEY}"));
    // With a replacement.
    chat.nvim.lua("open(); choose('(leave out)')", &[]);
    assert_eq!(prompts(&mut chat)[0]["items"], json!(["yes", "no", "(leave out)"]));
    chat.nvim.lua("choose('2.5')", &[]);
    let again = prompts(&mut chat)[2].clone();
    assert_eq!(again["default"], "2.5");
    assert!(
        again["prompt"].as_str().unwrap().contains("[number: expected a whole number, like 3, got `2.5`]"),
        "{again}"
    );
    chat.nvim.lua("choose('2'); choose('(leave out)')", &[]);
    assert_eq!(answers(&mut chat), json!([{ "number": 2 }]));
    // With Neovim's own prompts, from the key to the request.
    let replies = [call("toolu_1", "survey", &json!({})), prose(&["fine"])];
    let lua = lua.replace("own_select, own_input", "vim.ui.select, vim.ui.input");
    let mut chat = Chat::start(&Setup { lua: &lua, ..Setup::default() }, replies);
    chat.send_until("flemma:tool status=");
    chat.go_to("status=pending");
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for_screen("3: (leave out)");
    chat.nvim.wait_for_screen("Type number");
    chat.nvim.input("3<CR>");
    chat.nvim.wait_for_screen("number (optional)");
    chat.nvim.input("two<CR>");
    chat.nvim.wait_for_screen("expected a whole number, like 3, got `two`");
    assert_eq!(chat.nvim.row_with("1: yes"), None, "the prompt before it is gone");
    chat.nvim.input("<C-u>7<CR>");
    chat.nvim.wait_for_screen("2: M");
    chat.nvim.wait_for_screen("Type number");
    chat.nvim.input("2<CR>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(result(&chat), "{\"number\":7,\"size\":\"M\"}", "in the order of the fields");
}

#[test]
fn json_that_is_broken_is_named_where_it_breaks() {
    let mut chat = waiting("release", &json!({ "version": "2" }), RELEASE);
    chat.go_to("status=pending");
    chat.nvim.input("o{\"version\": \"2\",<CR>channel: \"beta\"}<Esc><M-CR>");
    let line = chat.nvim.lines(0).iter().position(|line| line.starts_with("channel:")).unwrap() + 1;
    let words = format!(
        "release (toolu_1): your answer is not sent: line {line}: not valid JSON: key must be a string, found \
         `channel: \"beta\"}}`; write each key in double quotes. Write a JSON object: {{\"version\""
    );
    chat.nvim.wait_for("a message", |nvim| said(nvim).contains(&words));
    // The input of the call.
    chat.nvim.input("dkgg");
    chat.nvim.lua("vim.cmd([[silent! g/channel:/d]]); vim.cmd([[silent! g/^{\"version\": \"2\",$/d]])", &[]);
    chat.nvim.command("%s/{\"version\":\"2\"}/{\"version\":\"2\",}/");
    let line = chat.nvim.lines(0).iter().position(|line| line.contains("\"2\",}")).unwrap() + 1;
    chat.go_to("status=pending");
    chat.nvim.input("<M-CR>");
    let words = format!(
        "release: the question cannot be shown: line {line}: not valid JSON: trailing comma, found `}}`; remove the comma \
         before it"
    );
    chat.nvim.wait_for("a message", |nvim| said(nvim).contains(&words));
}

#[test]
fn a_form_whose_prompt_is_lost_can_be_opened_again() {
    let mut chat = waiting("ask_user", &colours(), FLOAT);
    chat.nvim.lua("open()", &[]);
    chat.nvim.wait_for("the picker", |nvim| nvim.lua("return #prompts == 1 and float ~= nil", &[]) == true);
    // A plugin that does not call back when its window is closed.
    chat.nvim.wait_for("another picker", |nvim| {
        nvim.lua(
            "if vim.api.nvim_win_is_valid(float) then vim.api.nvim_win_close(float, true) end; open(); return true",
            &[],
        );
        nvim.lua("return #prompts == 2", &[]) == true
    });
    chat.nvim.lua("prompts[1].answer('red', 1)", &[]);
    assert_eq!(answers(&mut chat), json!([]), "the prompt that was replaced has no effect");
    chat.nvim.lua("choose('green (default)')", &[]);
    assert_eq!(answers(&mut chat), json!(["green"]));
    // A plugin that forgets its callback without ever having had a window.
    let mut chat = asking(&colours());
    chat.nvim.lua("open(); prompts = {}; open()", &[]);
    assert_eq!(prompts(&mut chat).as_array().unwrap().len(), 1);
    chat.nvim.lua("choose('red')", &[]);
    assert_eq!(answers(&mut chat), json!(["red"]));
}

#[test]
fn the_prompts_of_neovim_itself_work() {
    let mut chat = waiting("ask_user", &json!({ "question": "A name?", "default": "x" }), "vim.ui.input = own_input");
    chat.nvim.request("nvim_input", &[":lua open()<CR>".into()]);
    chat.nvim.wait_for_screen("ask_user: A name? x");
    chat.nvim.request("nvim_input", &["yz<CR>".into()]);
    chat.nvim.wait_for("the answer", |nvim| nvim.lua("return answers", &[]) == json!(["xyz"]));
    chat.nvim.request("nvim_input", &[":lua open()<CR>".into()]);
    chat.nvim.wait_for_screen("ask_user: A name? x");
    chat.nvim.request("nvim_input", &["<Esc>".into()]);
    chat.nvim.wait_for("normal mode", |nvim| nvim.mode() == "n");
    assert_eq!(answers(&mut chat), json!(["xyz"]));
    for words in ["stack traceback", "Error"] {
        assert!(!said(&mut chat.nvim).contains(words));
    }
}

#[test]
fn a_call_that_nobody_has_to_answer_has_no_form() {
    let mut chat = waiting("bash", &json!({ "command": "true", "label": null, "timeout": null }), "");
    chat.nvim.lua("open(); require('flemma.form').open(0, 'toolu_9')", &[]);
    assert_eq!(prompts(&mut chat), json!([]));
    chat.nvim.wait_for("a message", |nvim| said(nvim).contains("the call toolu_1 does not wait for an answer"));
}

/// The result of the call as the second request has it.
fn result(chat: &Chat) -> Value {
    let content = chat.messages(1)[2]["content"][0]["content"].clone();
    content.as_str().map_or_else(|| content[0]["text"].clone(), Value::from)
}

/// A way to answer.
type Act<'a> = &'a dyn Fn(&mut Chat);

#[test]
fn the_model_gets_answers_from_the_form_and_the_block() {
    let ways: [(&str, Act); 4] = [
        ("green", &|chat| {
            chat.go_to("status=pending");
            chat.nvim.input("<M-CR>");
            chat.nvim.wait_for("the form", |nvim| nvim.lua("return #prompts", &[]) == 1);
            chat.nvim.lua("choose('green (default)')", &[]);
        }),
        ("green", &|chat| {
            chat.go_to("status=pending");
            chat.nvim.input("o2<Esc><C-]>");
        }),
        ("teal", &|chat| {
            chat.go_to("status=pending");
            chat.nvim.input("oteal<Esc><M-CR>");
        }),
        ("red", &|chat| {
            chat.nvim.lua("_G.late = nil; open_now()", &[]);
            chat.nvim.wait_for("the form", |nvim| nvim.lua("return #prompts", &[]) == 1);
            let resolved = chat.nvim.lua("return { require('flemma.tools').resolve(0, 'toolu_1', 'red') }", &[]);
            assert_eq!(resolved, json!([true]));
            chat.nvim.lua("choose('green (default)')", &[]);
            chat.nvim.wait_for("a message", |nvim| said(nvim).contains("not answered: a plugin or another program"));
        }),
    ];
    for (answer, act) in ways {
        let lua = format!(
            "{LATER}\n_G.open_now = function() require('flemma.form').open(vim.fn.bufnr('notes.chat'), 'toolu_1') end"
        );
        let replies = [call("toolu_1", "ask_user", &colours()), prose(&["fine"])];
        let mut chat = Chat::start(&Setup { lua: &lua, ..Setup::default() }, replies);
        chat.send_until("flemma:tool status=");
        act(&mut chat);
        chat.nvim.wait_for(answer, |nvim| nvim.text().contains("@Assistant:\nfine"));
        assert_eq!(result(&chat), answer);
    }
}

#[test]
fn the_form_that_was_opened_last_is_answered() {
    let lua = LATER;
    let replies = [call("toolu_1", "ask_user", &colours()), prose(&["fine"])];
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, replies);
    chat.send_until("flemma:tool status=");
    chat.nvim.command("vsplit");
    for count in 1..=2 {
        chat.nvim.command("wincmd p");
        chat.go_to("status=pending");
        chat.nvim.input("<M-CR>");
        chat.nvim.wait_for("the form", |nvim| nvim.lua("return #prompts", &[]) == count);
    }
    chat.nvim.lua("prompts[1].answer('red', 1)", &[]);
    chat.nvim.wait_for("a message", |nvim| said(nvim).contains("the form of this call was opened again"));
    assert!(!chat.nvim.text().contains("@Assistant:\nfine"), "the prompt that was replaced has no effect");
    // The window in which the form was opened may be gone.
    chat.nvim.command("wincmd p | close");
    chat.nvim.lua("choose('green (default)')", &[]);
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(result(&chat), "green");
    assert_eq!(chat.server.wait_for_requests(2).len(), 2);
}

#[test]
fn a_question_is_shown_whole_on_one_status_line() {
    let question = "Which of the two databases should I use for the sessions of the users?";
    let input =
        json!({ "question": question, "options": ["sqlite, in a file", "postgres, as the rest"], "default": null });
    for width in [60, 80, 100] {
        let mut chat = Chat::start(&Setup::default(), [call("toolu_1", "ask_user", &input)]);
        chat.nvim.request("nvim_ui_try_resize", &[json!(width), json!(40)]);
        chat.send_until("kind=elicitation");
        chat.nvim.input("gg");
        let found = |nvim: &mut Nvim| nvim.row_with("2: postgres, as the rest").is_some();
        chat.nvim.wait_for("the last option", found);
        // The cursor, which led to the call, has left its line.
        chat.nvim.wait_for_screen("answer until ");
        let screen = chat.nvim.screen();
        assert!(!screen.iter().any(|row| row.contains("question=") || row.contains("```flemma:tool")), "{screen:#?}");
        assert!(screen.iter().any(|row| row.contains("answer until ")), "{screen:#?}");
        assert!(screen.iter().any(|row| row.contains("the users?")), "{screen:#?}");
    }
}
