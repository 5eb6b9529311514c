//! What `:checkhealth flemma` asks of the library.

use super::exports::Exports;
use crate::{
    config::{Config, ProviderName},
    provider::{
        anthropic,
        auth::Environment,
        compatible::{self, OpenAiCompatible},
        openai, vertex,
    },
};

/// The function that Lua calls.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    exports.add("check", |lua, editor, ()| {
        let config = editor.config();
        let (level, message) = match config.provider {
            ProviderName::Rehearsal => (
                "info",
                "provider `rehearsal`: a script, no model. Set `provider = \"anthropic\"` to talk to one.".to_owned(),
            ),
            ProviderName::Anthropic => key_check(&config, anthropic::KEY_VARIABLE),
            ProviderName::OpenAi => key_check(&config, openai::KEY_VARIABLE),
            ProviderName::OpenAiCompatible => {
                let base_url = config.parameters_for(config.provider).base_url.unwrap_or_default();
                let (name, model) = (compatible::NAME, config.model());
                match OpenAiCompatible::new(&base_url, Environment::of_process()).models() {
                    Ok(_) if model.is_empty() => ("error", format!("provider `{name}`: `model` is not set")),
                    Ok(_) => ("ok", format!("provider `{name}`, model {model}")),
                    Err(error) => ("error", error.message),
                }
            }
            ProviderName::Vertex => {
                let environment = Environment::of_process();
                let places = [vertex::TOKEN_VARIABLE, vertex::token::FILE_VARIABLE];
                let place = places.into_iter().find(|variable| environment.has(variable));
                let place =
                    place.map_or_else(|| "the token comes from `gcloud`".to_owned(), |name| format!("{name} is set"));
                ("info", format!("provider `{}`, model {}: {place}", vertex::NAME, config.model()))
            }
        };
        let item = lua.create_table()?;
        item.set("level", level)?;
        item.set("message", message)?;
        Ok(vec![item])
    })
}

/// Whether the key of a vendor is in the environment. Nothing else is asked here: that may take a window and a minute.
fn key_check(config: &Config, variable: &str) -> (&'static str, String) {
    let provider = format!("provider `{}`, model {}", config.provider.name(), config.model());
    match Environment::of_process().find(variable) {
        Ok(Some(_)) => ("ok", format!("{provider}: {variable} is set")),
        Ok(None) => (
            "warn",
            format!("{provider}: {variable} is not set; the keyring and `api_key_command` are asked when it is needed"),
        ),
        Err(error) => ("error", error.message),
    }
}
