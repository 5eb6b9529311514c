//! The Responses API and Chat Completions over HTTP: requests, and how the end of a reply is recognised.

use std::sync::{Arc, Mutex};

use flemma_model::{Event, Message, Part, Role, StopReason};
use flemma_provider::{ErrorKind, Exchange, Headers, ProviderError, Request, auth::Environment};
use flemma_runtime::http::{Http, Reading, Timeouts};
use serde_json::json;

use crate::{
    completions,
    conversation::provider_of,
    http::{Reply, Server},
    responses,
};

const KEY: &str = "sk-very-secret";

fn headers() -> Headers {
    let mut headers = Headers::default();
    headers.insert("X-Team", "core").unwrap();
    headers
}

fn openai(server: &Server) -> flemma_provider::Server {
    let environment = Environment::new(|name| (name == "OPENAI_API_KEY").then(|| KEY.to_owned()));
    let options = json!({"base_url": format!("{}/v1", server.base_url()), "headers": headers()});
    provider_of("openai", options, environment)
}

fn compatible(server: &Server) -> flemma_provider::Server {
    // OpenAI's key is set, and is sent to no other server.
    let environment = Environment::new(|name| (name == "OPENAI_API_KEY").then(|| KEY.to_owned()));
    let options = json!({"base_url": format!("{}/v1/", server.base_url()), "headers": headers()});
    provider_of("openai_compatible", options, environment)
}

async fn play(provider: &flemma_provider::Server) -> (Vec<Event>, Result<(), ProviderError>) {
    let message = Message { role: Role::User, parts: vec![Part::Text("Hello".to_owned())] };
    let request = Request { model: "m".to_owned(), messages: vec![Arc::new(message)], ..Request::default() };
    let mut events = Vec::new();
    let result = match provider.prepare(&request).unwrap() {
        Exchange::Http { request, decoder } => {
            Http::default()
                .perform(
                    request,
                    &Mutex::new(Reading::new(decoder, |event| {
                        events.push(event);
                        Ok(())
                    })),
                    Timeouts::default(),
                )
                .await
        }
        Exchange::Script(_) => panic!("no script is asked"),
    };
    (events, result)
}

fn ended(events: &[Event]) -> bool {
    events.contains(&Event::Text("Hello".to_owned())) && events.last() == Some(&Event::Finished(StopReason::EndTurn))
}

#[tokio::test]
async fn responses_are_asked_for_with_the_key_and_the_users_headers() {
    // The connection stays open, since the reply marks its own end.
    let stream = responses::Stream::new().text(&["Hello"]).end().bytes();
    let server = Server::start([Reply::stream().byte_by_byte(stream).hang()]);
    let (events, result) = play(&openai(&server)).await;
    assert!(result.is_ok() && ended(&events), "{result:?} {events:?}");
    let request = &server.wait_for_requests(1)[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/responses"));
    for (name, value) in [
        ("authorization", "Bearer sk-very-secret"),
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("x-team", "core"),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    assert_eq!(request.json()["store"], json!(false));
}

#[tokio::test]
async fn a_server_without_a_key_gets_none_and_may_end_as_it_likes() {
    let whole = || completions::Stream::new().text(&["Hello"]);
    let server = Server::start([
        Reply::stream().chunk(whole().end("stop").bytes()).hang(),
        Reply::stream().chunk(whole().stop("stop").usage().bytes()).hang(),
        Reply::stream().byte_by_byte(whole().stop("stop").bytes()),
    ]);
    for _ in 0..3 {
        let (events, result) = play(&compatible(&server)).await;
        assert!(result.is_ok() && ended(&events), "{result:?} {events:?}");
    }
    for request in server.wait_for_requests(3) {
        assert_eq!(request.path, "/v1/chat/completions");
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.header("x-team"), Some("core"));
    }
}

#[tokio::test]
async fn a_refusal_names_the_request_and_hides_the_key() {
    let body = json!({"error": {"message": format!("bad key {KEY}"), "type": "invalid_request_error",
                                "code": "invalid_api_key"}});
    let server = Server::start([Reply::json(401, &body).header("x-request-id", "req_7")]);
    let (events, result) = play(&openai(&server)).await;
    assert_eq!(events, []);
    let error = result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Authentication);
    for words in ["OPENAI_API_KEY", "bad key …", "[request req_7]"] {
        assert!(error.message.contains(words), "{words:?} is not in {error}");
    }
}
