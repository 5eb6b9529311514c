"""Checks the bodies of requests against the types of the vendors' own SDKs.

Reads JSON lines from standard input, `{"name", "provider", "valid", "body"}`: `valid` says what is expected of
`body`. Writes a line for every body of which something else is true, and one with the counts; the exit code is 1 if
there was any. `scripts/sdk` gets the Python that this needs.

The SDKs describe requests with TypedDicts. Those leave unknown keys alone and read an `Iterable` only when somebody
walks through it, so both are made strict here: unknown keys are refused, and a list is read at once.
"""

import collections.abc
import importlib
import json
import pkgutil
import sys
import typing

import pydantic
import typing_extensions


def load(package):
    """The modules of an SDK's types, with every `Iterable` a list and every TypedDict closed."""
    places = (typing, typing_extensions, collections.abc)
    originals = [place.Iterable for place in places]
    for place in places:
        place.Iterable = typing.List
    try:
        root = importlib.import_module(package)
        names = [found.name for found in pkgutil.walk_packages(root.__path__, package + ".")]
        modules = [importlib.import_module(name) for name in names]
    finally:
        for place, original in zip(places, originals):
            place.Iterable = original
    for module in modules:
        for value in vars(module).values():
            if typing_extensions.is_typeddict(value):
                value.__pydantic_config__ = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    return root


def without_temperature(body):
    """The SDK has dropped it with the models that refuse it; the API still takes it for those up to 4.6."""
    older = ("claude-sonnet-4-5", "my-deployment")
    if body.get("model") in older and isinstance(body.get("temperature"), float):
        del body["temperature"]


def anthropic():
    types = load("anthropic.types")
    return pydantic.TypeAdapter(types.message_create_params.MessageCreateParamsStreaming), without_temperature


def openai():
    types = load("openai.types")
    return pydantic.TypeAdapter(types.responses.response_create_params.ResponseCreateParamsStreaming), None


def without_thinking(body):
    """Servers that are not OpenAI want thinking back, in fields that OpenAI's types do not have."""
    for message in body.get("messages", []):
        if message.get("role") == "assistant" and message.get("tool_calls"):
            for field in ("reasoning_content", "reasoning"):
                if isinstance(message.get(field), str):
                    del message[field]


def openai_compatible():
    types = load("openai.types")
    params = types.chat.completion_create_params.CompletionCreateParamsStreaming
    return pydantic.TypeAdapter(params), without_thinking


def vertex():
    """The SDK has no one type for the body; these are its parts, as `generateContent` documents them."""
    from google.genai import types

    body = pydantic.create_model(
        "Body",
        __config__=pydantic.ConfigDict(extra="forbid"),
        contents=(typing.List[types.Content], ...),
        systemInstruction=(typing.Optional[types.Content], None),
        tools=(typing.Optional[typing.List[types.Tool]], None),
        toolConfig=(typing.Optional[types.ToolConfig], None),
        generationConfig=(typing.Optional[types.GenerationConfig], None),
        safetySettings=(typing.Optional[typing.List[types.SafetySetting]], None),
        labels=(typing.Optional[typing.Dict[str, str]], None),
    )
    return pydantic.TypeAdapter(body), None


PROVIDERS = {"anthropic": anthropic, "openai": openai, "openai_compatible": openai_compatible, "vertex": vertex}


def complaint(checks, provider, body):
    """What is wrong with a body, or nothing."""
    if provider not in checks:
        checks[provider] = PROVIDERS[provider]()
    adapter, prepare = checks[provider]
    if prepare:
        prepare(body)
    try:
        adapter.validate_json(json.dumps(body))
    except pydantic.ValidationError as error:
        return "; ".join(f"{'.'.join(map(str, at['loc']))}: {at['msg']}" for at in error.errors()[:6])
    return None


def main():
    checks, counts, wrong = {}, {}, 0
    for line in filter(str.strip, sys.stdin):
        case = json.loads(line)
        found = complaint(checks, case["provider"], case["body"])
        key = (case["provider"], "valid" if case["valid"] else "refused")
        counts[key] = counts.get(key, 0) + 1
        if (found is None) != case["valid"]:
            wrong += 1
            print(f"{case['provider']}, {case['name']}: {found or 'should have been refused, and was not'}")
    print("checked " + ", ".join(f"{count} {provider} ({kind})" for (provider, kind), count in sorted(counts.items())))
    return 1 if wrong or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
