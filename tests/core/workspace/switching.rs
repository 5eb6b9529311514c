//! Options that the user changes while the editor runs.

use flemma_provider::ProviderName;
use flemma_workspace::{Switched, Toggle};
use serde_json::json;

use super::harness::{Harness, Setup, bash, calls, held, prose};
use crate::http::{Gate, Reply};

/// A conversation, and a preset to switch to.
fn start(text: &str, replies: impl IntoIterator<Item = Reply>) -> Harness {
    let presets = json!({ "$other": "openai_compatible llama temperature=0.5", "$script": "rehearsal tour" });
    let options = json!({ "presets": presets, "parameters": { "rehearsal": { "pace": 0 } } });
    Harness::start(Setup { text, options, ..Setup::default() }, replies)
}

#[test]
fn a_switch_holds_for_all_conversations_until_setup() {
    let chat = start("@You:\nHello", [prose("from qwen"), prose("from llama"), prose("in the other file")]);
    chat.put("other.chat", "@You:\nHi\n");
    chat.go();
    chat.wait_for("from qwen");
    assert_eq!(
        chat.switch("openai_compatible llama max_tokens=77"),
        "conversations now use openai_compatible, llama, max_tokens 77"
    );
    for line in ["provider openai_compatible runtime", "model llama runtime", "max_tokens 77 runtime"] {
        chat.status_has(line);
    }
    chat.type_below("Again");
    chat.go();
    chat.wait_for("from llama");
    chat.edit("other.chat");
    chat.go();
    chat.wait_for("in the other file");
    for n in 1..=2 {
        let body = chat.body(n);
        assert_eq!((&body["model"], &body["max_tokens"]), (&json!("llama"), &json!(77)));
    }
    chat.set_up(json!({}), None).unwrap();
    chat.status_has("model qwen3 setup");
    chat.status_has("max_tokens 8192 default");
}

#[test]
fn a_provider_without_a_model_leaves_it_to_the_default() {
    let chat = start("@You:\nHello", []);
    assert_eq!(chat.switch("openai"), "conversations now use openai, gpt-5.6-terra");
    chat.status_has("provider openai runtime");
    chat.status_has("model gpt-5.6-terra default");
    // One that has no default wants the user to choose.
    chat.set_up(json!({ "provider": "rehearsal", "model": "welcome" }), None).unwrap();
    let wants = Switched::WantsModel(ProviderName::from_name("openai_compatible").unwrap());
    assert_eq!(chat.try_switch("openai_compatible max_tokens=5"), Ok(wants));
    chat.status_has("provider rehearsal setup");
}

#[test]
fn a_preset_is_switched_to_and_completed() {
    let chat = start("@You:\nHello", []);
    let words = |words: &[&str], lead: &str| {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        chat.workspace.switches.switch_words(&words, lead)
    };
    assert_eq!(words(&[], "$"), ["$other", "$script"]);
    assert_eq!(words(&[], "ant"), ["anthropic"]);
    assert!(words(&["anthropic"], "").contains(&"claude-opus-5-5".to_owned()));
    let thinking = ["thinking=minimal", "thinking=medium", "thinking=max"];
    assert_eq!(words(&["anthropic", "claude-x"], "thinking=m"), thinking);
    assert_eq!(chat.switch("$other"), "conversations now use openai_compatible, llama, temperature 0.5");
    let shown = chat.workspace.switches.recipients();
    assert!(
        shown.contains(&("openai_compatible".to_owned(), "openai_compatible (now: llama)".to_owned())),
        "{shown:?}"
    );
    assert!(shown.contains(&("$other".to_owned(), "$other: openai_compatible, llama, temperature 0.5".to_owned())));
}

#[test]
fn a_typo_changes_nothing_and_names_the_nearest_word() {
    let chat = start("@You:\nHello", []);
    for (words, message) in [
        ("antropic", "there is no provider `antropic`; did you mean `anthropic`?"),
        ("$ohter", "there is no preset `$ohter`; did you mean `$other`?"),
        ("anthropic m thinking=hihg", "`thinking` must be false, a number of tokens, or one of"),
        ("anthropic m headers={}", "`headers` may be a secret, and the command line has a history"),
    ] {
        let problem = chat.try_switch(words).unwrap_err();
        assert!(problem.contains(message), "{words}: {problem}");
    }
    chat.status_has("provider openai_compatible setup");
    chat.status_has("model qwen3 setup");
    let presets = json!({ "$x": "openai_compatible" });
    chat.set_up(json!({ "provider": "rehearsal", "model": "welcome", "presets": presets }), None).unwrap();
    let problem = chat.try_switch("$x").unwrap_err();
    assert!(
        problem.contains("the preset `$x` names no model, and `openai_compatible` has none by default"),
        "{problem}"
    );
    let problems = chat.set_up(json!({ "presets": { "$x": "antropic m" } }), None).unwrap_err();
    let words = "`presets.$x`: there is no provider `antropic`; did you mean `anthropic`?";
    assert!(problems[0].contains(words), "{problems:?}");
}

#[test]
fn frontmatter_overrides_a_switch_and_the_message_says_so() {
    let frontmatter = "```json\n{\"model\": \"claude-mine\", \"thinking\": \"low\"}\n```";
    let chat = start("@You:\nHello", []);
    chat.type_at(0, frontmatter);
    assert_eq!(
        chat.switch("anthropic claude-other thinking=high"),
        "conversations now use anthropic, claude-other, thinking high; \
         notes.chat keeps anthropic, claude-mine, its own thinking because of its frontmatter"
    );
    chat.status_has("provider anthropic runtime");
    chat.status_has("model claude-mine frontmatter");
    // Three files are named, and the others are counted.
    for name in ["b.chat", "c.chat", "d.chat", "e.chat"] {
        chat.put(name, "@You:\nHello\n");
        chat.edit(name);
        chat.type_at(0, frontmatter);
    }
    let message = chat.switch("anthropic claude-third");
    assert_eq!(message.matches("keeps anthropic, claude-mine").count(), 3, "{message}");
    assert!(message.ends_with("; 2 more open files keep what their frontmatter sets"), "{message}");
}

#[test]
fn a_reply_that_streams_ends_as_it_began() {
    let gate = Gate::new();
    let chat = start("@You:\nHello", [held("from ", &gate, "there")]);
    chat.go();
    chat.drain_until("half of the reply", |chat| chat.text().contains("from "));
    chat.switch("$script");
    gate.open();
    chat.wait_for("from there\n\n@You:");
    chat.shows(
        "
        @You:
        Hello

        @Assistant:
        from there

        @You:
        |
        ",
    );
    chat.type_below("Again");
    chat.go();
    chat.drain_until("the next reply", |chat| chat.text().matches("@Assistant:").count() == 2);
    assert_eq!(chat.server.requests().len(), 1, "the script needs no server");
    chat.stop();
}

#[test]
fn the_view_names_the_model_of_the_pending_request() {
    let gate = Gate::new();
    let chat = start("@You:\nHello", [Reply::stream().hold(&gate)]);
    chat.go();
    chat.drain_until("the request", |chat| chat.conversation().is_busy());
    chat.switch("$script");
    let text = chat.conversation().live(80).text.unwrap();
    assert!(text.starts_with("waiting for openai_compatible (qwen3), 0 s"), "{text}");
    chat.status_has("waiting for openai_compatible (qwen3)");
    let line = chat.workspace.views.status_line(chat.current()).unwrap();
    assert!(line.ends_with(" · waiting, 0 s"), "{line}");
    chat.stop();
    assert_eq!(chat.conversation().live(80).text, None);
}

#[test]
fn autopilot_is_toggled_unless_frontmatter_sets_it() {
    let options = json!({ "tools": { "auto_approve": ["bash"] } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls([("bash", bash("true"))]), prose("done")]);
    let autopilot = || chat.workspace.views.autopilot(&chat.conversation());
    assert_eq!(autopilot(), "autopilot is on here (default): up to 100 requests for each key press");
    let message = chat.workspace.switches.set(Toggle::Autopilot, false).unwrap();
    assert_eq!(message, "autopilot is off: conversations wait for you after each step");
    chat.go();
    chat.wait_for("call_0");
    assert_eq!(chat.sent(), 1);
    assert!(!chat.text().contains("Tool Result"), "{}", chat.text());
    assert_eq!(autopilot(), "autopilot is off here (runtime): press Ctrl-] for each step");
    chat.workspace.switches.set(Toggle::Autopilot, true).unwrap();
    chat.go();
    chat.wait_for("@Assistant:\ndone");
    chat.type_at(0, "```json\n{\"tools\": {\"autopilot\": true}}\n```");
    let message = chat.workspace.switches.set(Toggle::Autopilot, false).unwrap();
    assert!(message.ends_with("; notes.chat keeps it on because of its frontmatter"), "{message}");
    assert_eq!(autopilot(), "autopilot is on here (frontmatter): up to 100 requests for each key press");
}

#[test]
fn a_toggle_is_found_by_its_option_and_keeps_the_others() {
    assert_eq!(Toggle::of("tools.autopilot.enabled"), Some(Toggle::Autopilot));
    assert_eq!(Toggle::of("logging.enabled"), Some(Toggle::Logging));
    for other in ["", "tools", "tools.autopilot", "logging", "model"] {
        assert_eq!(Toggle::of(other), None, "{other}");
    }
    let chat = start("@You:\nHello", []);
    chat.switch("$other");
    chat.workspace.switches.set(Toggle::Autopilot, false).unwrap();
    let message = chat.workspace.switches.set(Toggle::Logging, true).unwrap();
    assert_eq!(message, format!("logging to {}", chat.workspace.shared.log_path().display()));
    let config = chat.workspace.shared.config();
    assert_eq!((config.model(), config.tools.autopilot.enabled, config.logging.enabled), ("llama", false, true));
    assert_eq!(chat.workspace.switches.set(Toggle::Logging, false).unwrap(), "logging is off");
    // A preset says all of it, and takes what was set before with it.
    chat.switch("$script");
    assert_eq!(chat.workspace.shared.config().model(), "tour");
}

#[test]
fn a_server_lists_its_models_and_a_vendors_are_known() {
    let list = json!({"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "llama3.3"}]});
    let chat = start("@You:\nHello", [Reply::json(200, &list), Reply::status(404).chunk("no such page")]);
    let ask = |provider: &str| {
        chat.workspace.switches.models(provider, flemma_tools::LuaRef(1));
        chat.drain_until("the models", |chat| chat.scripts.answers.borrow().contains_key(&flemma_tools::LuaRef(1)));
        chat.scripts.answers.borrow_mut().remove(&flemma_tools::LuaRef(1)).unwrap()
    };
    assert_eq!(ask("openai_compatible"), Ok(json!(["qwen3:8b", "llama3.3"])));
    assert_eq!((chat.request(0).method.as_str(), chat.request(0).path.as_str()), ("GET", "/v1/models"));
    assert!(ask("openai_compatible").unwrap_err().contains("no such page"));
    assert!(ask("anthropic").unwrap().as_array().unwrap().contains(&json!("claude-opus-5-5")));
    assert_eq!(ask("nobody"), Ok(json!([])));
}

#[test]
fn health_says_where_a_key_is_and_what_the_server_says() {
    let list = json!({ "data": [{ "id": "qwen3:latest" }] });
    let key = "sk-secret-0123456789";
    let by_command = json!({ "api_key_command": ["echo", key] });
    let refused = Reply::status(401).chunk(format!("{{\"error\": {{\"message\": \"bad key {key}\"}}}}"));
    for (own, model, reply, level, words) in [
        (json!({}), "qwen3", Reply::json(200, &list), "ok", "no key; the server answers"),
        (
            by_command.clone(),
            "qwen3",
            Reply::status(404),
            "info",
            "the key is from the command `echo`; the server answers, and does not list",
        ),
        (
            json!({}),
            "llama",
            Reply::json(200, &list),
            "warn",
            "does not list this model, but 1 others, such as qwen3:latest",
        ),
        (by_command, "qwen3", refused, "error", "not accepted by"),
        (json!({ "api_key_command": ["false"] }), "qwen3", Reply::status(500), "error", "failed with exit code 1"),
        (json!({ "base_url": "http://127.0.0.1:1/v1" }), "qwen3", Reply::status(500), "error", "127.0.0.1:1"),
        (json!({}), "qwen3", Reply::silence(), "warn", "no key; the server has not answered within 2 s"),
    ] {
        let options = json!({ "model": model, "parameters": { "openai_compatible": own } });
        let chat = Harness::start(Setup { text: "@You:\n", options, ..Setup::default() }, [reply]);
        let findings = json!(chat.workspace.switches.health("the versions"));
        let (said, about) = (findings[1]["message"].as_str().unwrap(), findings[3]["message"].as_str().unwrap());
        assert_eq!(findings[1]["level"], level, "{said}");
        assert!(
            said.starts_with(&format!("provider `openai_compatible`, {model}: ")) && said.contains(words),
            "{said}"
        );
        assert!(about.starts_with("the versions\n") && about.contains("model, "), "{about}");
        assert!(!findings.to_string().contains("0123456789"), "{findings}");
    }
}
