//! Providers: what a model is asked and what it answers, in terms that belong to no vendor.
//!
//! * A [`Request`] is what a conversation asks: model, messages, tools, parameters.
//! * A [`Server`] speaks one vendor's protocol. It turns a request into an [`Exchange`]: the bytes to send, and a
//!   [`Decoder`] that turns the bytes of the answer into [`Event`](flemma_model::Event)s.
//! * A [`ProviderName`] is a row of the registry. The row names the vendor's models, secrets and hosted tools, and reads
//!   the vendor's own options ([`VendorOptions`]). With them and the keys, a [`Server`] is made.
//! * A [`ProviderError`] says what failed in a sentence for the user, and whether another attempt may succeed.
//!
//! Nothing here opens a socket, starts a process or reads a file: `runtime` does, so every provider is tested with
//! plain bytes. A vendor is a folder and a row in `registry.rs`; no other code names one.
//!
//! ```
//! use std::sync::Arc;
//! use flemma_config::Config;
//! use flemma_model::{Event, Message, Part, Role, UserError};
//! use flemma_provider::{Exchange, Request, Server, auth::Environment};
//!
//! // What the user has set, and the environment that holds the key.
//! let config = Config::from_layers(&[serde_json::json!({ "provider": "anthropic", "model": "claude-x" })]).unwrap();
//! let environment = Environment::new(|name| (name == "ANTHROPIC_API_KEY").then(|| "sk-1".to_owned()));
//!
//! // The provider that this names, and what it makes of a request.
//! let options = config.parameters_for(config.provider);
//! let provider = Server::new(options.vendor, environment, |_| Err(UserError::new("no documents here")));
//! let hello = Message { role: Role::User, parts: vec![Part::Text("Hello".to_owned())] };
//! let request = Request { model: options.model, messages: vec![Arc::new(hello)], ..Request::default() };
//! let Exchange::Http { request, mut decoder } = provider.prepare(&request)? else { panic!("a server is asked") };
//! assert_eq!(request.url, "https://api.anthropic.com/v1/messages");
//!
//! // The answer is read as it comes, wherever it is cut.
//! let answer = br#"data: {"type": "message_start", "message": {}}
//!
//! data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
//!
//! data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}}
//!
//! "#;
//! let mut events = Vec::new();
//! for piece in answer.chunks(7) {
//!     decoder.feed(piece, &mut events)?;
//! }
//! assert!(events.contains(&Event::Text("Hi.".to_owned())));
//! # Ok::<(), flemma_provider::ProviderError>(())
//! ```

mod again;
pub mod anthropic;
pub mod attachment;
pub mod auth;
mod call_ids;
mod call_input;
pub mod catalogue;
pub mod connection;
mod context_overflow;
mod counts;
pub mod credential;
mod dialect;
mod error;
mod headers;
pub mod host;
pub mod hosted;
mod http;
mod loose_json;
pub mod models;
pub mod openai;
pub mod openai_compatible;
pub mod preview;
mod protocol;
mod redact;
mod refusal;
mod registry;
pub mod rehearsal;
mod reply;
pub mod reply_limit;
mod request;
pub mod retry;
mod server;
mod signature;
pub mod sse;
mod stop_reason;
mod text_calls;
mod thinking;
pub mod usage;
mod vendor;
mod vendor_error;
pub mod vertex;
mod wire;
pub mod xml_tools;

pub use error::{ErrorKind, ProviderError};
pub use headers::{HeaderProblem, Headers};
pub use hosted::{HostedProblem, HostedTool, SearchLimits};
pub use http::{ErrorResponse, HttpRequest};
pub use openai_compatible::CapabilityProbe;
pub use protocol::{Decoder, Exchange};
pub use refusal::{Refusal, Refusals};
pub use registry::{ProviderName, hosts_of, is_readable, redacted_signature, secret_variables, signers, signs_text};
pub use request::{AttachedBy, CacheRetention, Request, RequestParameters, ToolSpec};
pub use server::Server;
pub use thinking::{Thinking, ThinkingLevel};
pub use vendor::{ReadDocument, VendorOptions};
pub use vertex::token::KeyFile;
