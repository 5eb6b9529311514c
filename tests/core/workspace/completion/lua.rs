//! Options in frontmatter that is Lua.

use flemma_config::{Node, buffer};
use flemma_workspace::ItemKind;
use serde_json::json;

use super::{Offer, offer, with_files};
use crate::workspace::harness::{Harness, Setup};

/// What is offered in this code.
fn code(chat: &Harness, code: &str) -> Offer {
    offer(chat, &format!("```lua\n{code}\n```\n\n@You:\nHello"))
}

#[test]
fn options_are_offered_with_their_documentation() {
    let chat = with_files(&[]);
    let found = code(&chat, "flemma.opt.th¦ = \"high\"");
    assert_eq!((found.fitting(), found.replaces()), (vec!["thinking"], ("th", "")));
    let thinking = found.item("thinking");
    assert_eq!(thinking.kind, ItemKind::Option);
    assert_eq!(
        thinking.documentation,
        "`false|integer|\"minimal\"|\"low\"|\"medium\"|\"high\"|\"max\"`\n\nHow much the model may think.\n\n\
         Without this file: `false`\n\n`:help flemma-option-parameters.thinking`"
    );
    assert_eq!(found.item("anthropic").kind, ItemKind::Table);
    assert_eq!(code(&chat, "flemma.opt.thi¦nking").replaces(), ("thi", "nking"));
    assert_eq!(code(&chat, "¦").words(), ["flemma.opt"]);
    assert_eq!(code(&chat, "fle¦").taken("flemma.opt"), "flemma.opt");
    assert_eq!(code(&chat, "flemma.o¦").taken("opt"), "flemma.opt");
    let tools = code(&chat, "flemma.opt.tools.¦");
    assert_eq!(tools.words(), ["autopilot", "retention", "notes", "auto_approve"]);
    // A file cannot say where a key is sent.
    assert!(!code(&chat, "flemma.opt.openai.¦").words().iter().any(|word| ["base_url", "headers"].contains(word)));
}

#[test]
#[ignore = "slow"]
fn an_option_is_offered_wherever_it_can_be_written() {
    let chat = with_files(&[]);
    for (path, node) in buffer::known() {
        let (table, name) = path.rsplit_once('.').unwrap_or(("", &path));
        let dot = if table.is_empty() { String::new() } else { format!(".{table}") };
        let in_table = |key: &str| {
            let opened: String =
                table.split('.').filter(|part| !part.is_empty()).map(|part| format!(".{part}")).collect();
            format!("flemma.opt{opened} = {{ max_tokens = 1, {key}")
        };
        let mut forms = vec![
            (format!("flemma.opt{dot}."), String::new()),
            (format!("x = 1 flemma.opt{dot} ."), String::new()),
            (format!("local o = flemma.opt{dot}\no."), String::new()),
            (format!("if x then\n  flemma.opt{dot}[\""), "\"]".to_owned()),
            (format!("flemma.opt{dot}['"), String::new()),
            (format!("print(flemma.opt{dot}."), ")".to_owned()),
        ];
        // The two lists have entries in their tables.
        if !table.is_empty() && !matches!(table, "tools" | "tools.auto_approve") {
            forms.extend([(in_table(""), " = 1 }".to_owned()), (in_table("[\""), "\"] = 1 }".to_owned())]);
        }
        for (before, after) in forms {
            for typed in [0, 1, name.len() - 1, name.len()] {
                let found = code(&chat, &format!("{before}{}¦{after}", &name[..typed]));
                assert!(found.words().contains(&name), "{before}{}¦: {:?}", &name[..typed], found.words());
                assert_eq!(found.replaces(), (&name[..typed], ""), "{before}");
                let kind = if node == Node::Table { ItemKind::Table } else { ItemKind::Option };
                assert_eq!(found.item(name).kind, kind, "{path}");
            }
        }
    }
}

#[test]
fn values_are_offered_with_quotes_where_none_are_there() {
    let chat = with_files(&[]);
    let found = code(&chat, "flemma.opt.thinking = ¦");
    assert_eq!(found.words(), ["false", "\"minimal\"", "\"low\"", "\"medium\"", "\"high\"", "\"max\""]);
    for before in [
        "flemma.opt.thinking = \"",
        "flemma.opt.thinking = '",
        "flemma.opt['thinking'] = '",
        "flemma.opt.openai = { thinking = \"",
        "flemma.opt.openai = {\n  timeout = 3, -- a comment \"\n  [\"thinking\"] = \"",
        "local p = flemma.opt.openai\np.thinking = \"",
    ] {
        let found = code(&chat, &format!("{before}me¦\""));
        assert_eq!(found.fitting(), ["medium"], "{before}");
        assert_eq!(found.replaces(), ("me", ""), "{before}");
        assert_eq!(found.words().len(), 5, "{before}");
    }
    assert_eq!(code(&chat, "flemma.opt.tools.autopilot.enabled = f¦").fitting(), ["false"]);
    assert_eq!(code(&chat, "flemma.opt.tools.autopilot = ¦").words(), ["true", "false"]);
    assert_eq!(code(&chat, "flemma.opt.provider = \"an¦\"").fitting(), ["anthropic"]);
}

#[test]
fn models_are_those_of_the_provider_in_the_file() {
    let options = json!({ "provider": "anthropic", "model": null });
    let chat = Harness::start(Setup { options, ..Setup::default() }, []);
    let found = code(&chat, "flemma.opt.model = \"claude-opus-5¦\"");
    assert!(found.words().contains(&"claude-opus-5-5"), "{:?}", found.words());
    assert!(found.words().iter().all(|word| word.starts_with("claude-")));
    let opus = found.item("claude-opus-5-5");
    assert_eq!((opus.kind, opus.detail.as_str()), (ItemKind::Model, "anthropic"));
    assert!(opus.documentation.contains("Context: ") && opus.documentation.contains('$'), "{}", opus.documentation);
    let found = code(&chat, "flemma.opt.provider = \"openai\"\nflemma.opt.model = ¦");
    assert!(found.words().iter().all(|word| word.starts_with("\"gpt-")), "{:?}", found.words());
    // Every server has its own.
    assert!(code(&chat, "flemma.opt.provider = \"openai_compatible\"\nflemma.opt.model = \"¦").found.is_none());
}

#[test]
fn agents_are_offered_with_what_they_permit() {
    let options = json!({ "agents": {
        "notes": { "allowed_read_paths": ["~/notes"], "allowed_write_paths": [] },
        "free": {},
    } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, []);
    let found = code(&chat, "flemma.opt.agent = \"¦\"");
    assert_eq!(found.words(), ["free", "notes"]);
    let notes = found.item("notes");
    assert_eq!(
        (notes.detail.as_str(), notes.documentation.as_str()),
        ("agent", "Tools read `~/notes`.\n\nTools write nothing.\n\n`:help flemma-agents`")
    );
}

#[test]
fn lists_offer_tools_groups_and_presets() {
    let chat = with_files(&[]);
    for before in [
        "flemma.opt.tools = { \"",
        "flemma.opt.tools = {\n  'read',\n  '",
        "flemma.opt.tools:append(\"",
        "flemma.opt.tools:remove({ \"read\", \"",
        "flemma.opt.tools:remove{ \"",
        "flemma.opt.tools:append \"",
        "flemma.opt.tools = flemma.opt.tools + \"web_search\" - \"",
        "local t = flemma.opt.tools\nt:prepend(\"",
    ] {
        let found = code(&chat, &format!("{before}ba¦"));
        assert_eq!(found.fitting(), ["bash"], "{before}");
        assert!(!found.words().contains(&"$readonly"), "{before}");
    }
    let found = code(&chat, "flemma.opt.tools.auto_approve:append(\"$¦\")");
    assert_eq!(found.fitting(), ["$default", "$readonly"]);
    assert_eq!(found.item("$readonly").documentation, "Approves `read`.");
    assert!(found.words().contains(&"bash"));
    assert_eq!(code(&chat, "flemma.opt.tools = { ba¦").taken("\"bash\""), "flemma.opt.tools = { \"bash\"");
    assert_eq!(code(&chat, "flemma.opt.tools:¦").words(), ["append", "prepend", "remove", "set", "get"]);
    assert_eq!(code(&chat, "flemma.opt.tools.auto_approve:ap¦").fitting(), ["append"]);
}

#[test]
fn other_code_offers_nothing() {
    let chat = with_files(&[("a.txt", "")]);
    for text in [
        "-- flemma.opt.¦",
        "--[[ flemma.opt.¦",
        "x = [[ flemma.opt.¦",
        "x = \"flemma.opt.¦",
        "x = \"@./¦",
        "@¦",
        "other.opt.¦",
        "flemma.other.¦",
        "flemma.opt.thinking:¦",
        "flemma.opt.thinking ¦",
        "flemma.opt.unknown.¦",
        "x = flemma.opt.thinking == \"¦",
        "print(\"¦",
        "flemma.opt.max_tokens = 1¦",
        "flemma.opt.tools = 1\nx = \"¦",
        "flemma.opt.tools.auto_approve = function(tool) return tool == \"¦",
        "local flemma = 1, 2, ¦",
        "flemma.opt.tools[\"bash\"] = { \"¦",
    ] {
        let found = code(&chat, text);
        assert!(found.found.is_none(), "{text}: {:?}", found.words());
    }
    assert!(offer(&chat, "```lu¦a\n```\n").found.is_none());
    assert!(offer(&chat, "```yaml\nthi¦\n```\n").found.is_none());
    assert!(offer(&chat, "```lua\nflemma.opt.thinking = 1\n``¦`\n").found.is_none());
    // The end of the frontmatter may still be missing.
    assert_eq!(offer(&chat, "```lua\nflemma.opt.thin¦").fitting(), ["thinking"]);
}

#[test]
fn no_beginning_of_code_is_too_broken() {
    let chat = with_files(&[]);
    let sample = "local o = flemma.opt -- x\no.openai = { [\"thinking\"] = 'a\\'b', [[x]], y = { 1.5e3 } }\n\
         flemma.opt.tools:append({ \"bash\", })[1].x:y'z' = -- \"\nfunction f(...) return ... .. \"ü\" end ]]}}))";
    let mut offered = 0;
    for (at, _) in sample.char_indices() {
        let lines: Vec<&str> = sample[..at].split('\n').collect();
        let text = format!("```lua\n{}", sample[..at].to_owned());
        let buffer = chat.unnamed(&text.lines().map(|line| format!("|{line}\n")).collect::<String>());
        let column = lines.last().unwrap().len();
        if let Some(found) = super::ask(&chat, lines.len(), column) {
            assert!(found.range.start <= column && found.range.end >= column, "{text}");
            offered += 1;
        }
        chat.wipe(buffer);
    }
    assert!(offered > 10, "something is offered at {offered} places");
}
