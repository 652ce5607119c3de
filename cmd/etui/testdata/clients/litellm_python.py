import litellm
from pydantic import BaseModel

from common import KEY, PICTURE, URL, row

parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "weather", "description": "weather of a city", "parameters": parameters}}]
ways = {  # over chat completions and over messages
    "openai/": {"api_base": URL + "/v1", "api_key": KEY},
    "anthropic/": {"api_base": URL, "api_key": KEY},
}


class Person(BaseModel):
    name: str
    age: int


def ask(way, model, messages="hi", **more):
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    return litellm.completion(way + model, messages, num_retries=0, max_retries=0, **ways[way], **more)


@row("plain")
def plain():
    for way in ways:
        assert ask(way, "plain").choices[0].message.content == "Hello from the script."


@row("stream")
def stream():
    for way in ways:
        assert "".join(c.choices[0].delta.content or "" for c in ask(way, "plain", stream=True)) == "Hello from the script."


def loop(model, count):
    for way in ways:
        messages = [{"role": "user", "content": "weather?"}]
        first = ask(way, model, messages, tools=tools).choices[0]
        assert first.finish_reason == "tool_calls" and len(first.message.tool_calls) == count
        messages.append(first.message)
        for c in first.message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": c.id, "content": "sunny"})
        assert "sunny" in ask(way, model, messages, tools=tools).choices[0].message.content


@row("tools")
def with_tools():
    loop("weather", 1)


@row("parallel")
def parallel():
    loop("parallel", 2)


@row("structured")
def structured():
    assert Person.model_validate_json(ask("openai/", "json", response_format=Person).choices[0].message.content) == Person(name="Ann", age=30)


@row("pictures")
def pictures():
    content = [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PICTURE}}]
    for way in ways:
        assert ask(way, "picture", [{"role": "user", "content": content}]).choices[0].message.content == "pictures: 1"


@row("errors")
def errors():
    for way in ways:
        for model, kind in (("plian", litellm.NotFoundError), ("long", litellm.ContextWindowExceededError), ("busy", litellm.RateLimitError)):
            try:
                ask(way, model)
            except kind:
                pass
            else:
                raise AssertionError("an unknown model answered")
