//! Which models a server has (`GET /v1/models`).

use serde_json::Value;

use super::{ErrorResponse, HttpRequest, ProviderError, reply::is_error, vendor_error::Peer};

/// A request for the models of a server, and what reads the answer.
pub struct ModelsRequest {
    /// What to send.
    pub request: HttpRequest,
    pub(super) peer: Peer,
}

impl ModelsRequest {
    /// The names of the models in the body of an answer whose status is a success, in the server's order and each
    /// once: those in `data` (OpenAI's form), in a bare list, or in `models` (Ollama's form).
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) when there is no such list.
    pub fn read(&self, body: &[u8]) -> Result<Vec<String>, ProviderError> {
        let refuse = |what: &str| self.peer.malformed(what, &String::from_utf8_lossy(body));
        let json: Value = serde_json::from_slice(body).map_err(|error| refuse(&error.to_string()))?;
        if is_error(&json) {
            return Err(self.peer.interrupt(&json));
        }
        let list = [json.get("data"), json.get("models"), Some(&json)].into_iter().flatten().find_map(Value::as_array);
        let mut names: Vec<String> = Vec::new();
        for model in list.ok_or_else(|| refuse("no list of models"))? {
            let name = ["id", "model", "name"].into_iter().find_map(|field| model.get(field)?.as_str());
            let name = name.or(model.as_str()).filter(|name| !names.iter().any(|known| known == name));
            names.extend(name.map(str::to_owned));
        }
        Ok(names)
    }

    /// Turns an answer whose status is not a success into an error.
    pub fn decode_error(&self, response: &ErrorResponse) -> ProviderError {
        self.peer.decode_error(response)
    }
}
