//! Anthropic's Messages API, streamed.
//!
//! `encode` turns a request into the body of `POST /v1/messages`, `decode` turns the event stream
//! into [`Event`](flemma_model::Event)s, `cited` carries citations there and back. What a model
//! takes of thinking and sampling differs from family to family; `family` knows. `vendor` has the vendor's row and puts
//! it all together.
//!
//! The format is the one of <https://docs.claude.com/en/api/messages> and `…/messages-streaming`,
//! API version `2023-06-01`.

mod cited;
mod decode;
mod encode;
mod family;
mod vendor;

use self::vendor::NAME;
pub(super) use self::vendor::VENDOR;
