use super::*;

fn asked(model: &str, thinking: Thinking) -> String {
    config(model, thinking).map_or_else(String::new, |(config, _)| {
        serde_json::to_string(&config).unwrap_or_else(|error| error.to_string())
    })
}

#[test]
fn tokens_stay_within_the_range_of_the_model() {
    let budget = |model: &str, tokens: u32| match config(model, Thinking::Budget(tokens)) {
        Some((config, room)) if config["thinkingBudget"] == room => room,
        other => panic!("{model}: {other:?}"),
    };
    for (model, least, most) in [
        ("gemini-2.5-pro", 128, 32_768),
        ("gemini-2.5-flash", 1, 24_576),
        ("gemini-2.5-flash-preview-09-2025", 1, 24_576),
        ("gemini-2.5-flash-lite", 512, 24_576),
    ] {
        assert_eq!((budget(model, 1), budget(model, u32::MAX), budget(model, 4_096)), (least, most, 4_096), "{model}");
    }
}

#[test]
fn no_thinking_is_as_little_as_the_model_can_do() {
    for (model, config) in [
        ("gemini-2.5-pro", r#"{"thinkingBudget":128}"#),
        ("gemini-2.5-flash", r#"{"thinkingBudget":0}"#),
        ("gemini-2.5-flash-lite", r#"{"thinkingBudget":0}"#),
        ("gemini-3-pro-preview", r#"{"thinkingLevel":"LOW"}"#),
        ("gemini-3-flash-preview", r#"{"thinkingLevel":"MINIMAL"}"#),
        ("gemini-3.5-flash-lite", r#"{"thinkingLevel":"MINIMAL"}"#),
        ("gemini-3.8-flash", r#"{"thinkingLevel":"LOW"}"#),
        ("gemini-4-hydrogen", r#"{"thinkingLevel":"LOW"}"#),
    ] {
        assert_eq!(asked(model, Thinking::Off), config, "{model}");
        assert_eq!(asked(model, Thinking::Budget(0)), config, "{model}");
    }
}

#[test]
fn levels_are_those_that_the_model_knows() {
    let words = |model: &str| {
        ThinkingLevel::ALL.map(|level| {
            let asked = asked(model, Thinking::Level(level));
            let word =
                asked.strip_prefix(r#"{"includeThoughts":true,"thinkingLevel":""#).and_then(|w| w.strip_suffix("\"}"));
            word.unwrap_or(&asked).to_owned()
        })
    };
    assert_eq!(words("gemini-3-pro-preview"), ["LOW", "LOW", "HIGH", "HIGH", "HIGH"]);
    assert_eq!(words("gemini-3.1-pro"), ["LOW", "LOW", "MEDIUM", "HIGH", "HIGH"]);
    assert_eq!(words("gemini-3-flash"), ["MINIMAL", "LOW", "MEDIUM", "HIGH", "HIGH"]);
    assert_eq!(words("gemini-3.7-flash"), ["LOW", "LOW", "MEDIUM", "HIGH", "HIGH"]);
    assert_eq!(words("gemini-flash-latest"), ["LOW", "LOW", "MEDIUM", "HIGH", "HIGH"]);
}

#[test]
fn models_that_do_not_think_are_not_asked_to() {
    for model in ["gemini-2.0-flash", "gemini-1.5-pro", "gemini-3.1-flash-image", "gemini-2.5-flash-tts", "gemma-4", ""]
    {
        assert_eq!(asked(model, Thinking::Level(ThinkingLevel::High)), "", "{model}");
        assert!(!wants_signatures(model), "{model}");
    }
}
