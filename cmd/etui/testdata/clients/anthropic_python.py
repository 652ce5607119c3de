import anthropic
from pydantic import BaseModel

from common import KEY, PICTURE, URL, aborted, row

client = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
ask = lambda content: [{"role": "user", "content": content}]
schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"name": "weather", "description": "weather of a city", "input_schema": schema}]


class Person(BaseModel):
    name: str
    age: int


@row("plain")
def plain():
    answer = client.messages.create(model="plain", max_tokens=100, messages=ask("hi"))
    assert answer.content[0].text == "Hello from the script." and answer.stop_reason == "end_turn"


@row("stream")
def stream():
    with client.messages.stream(model="plain", max_tokens=100, messages=ask("hi")) as events:
        assert "".join(events.text_stream) == "Hello from the script."


def loop(model, stream, count):
    messages = ask("weather?")
    if stream:
        with client.messages.stream(model=model, max_tokens=100, messages=messages, tools=tools) as events:
            first = events.get_final_message()
    else:
        first = client.messages.create(model=model, max_tokens=100, messages=messages, tools=tools)
    assert first.stop_reason == "tool_use"
    calls = [b for b in first.content if b.type == "tool_use"]
    assert len(calls) == count
    messages.append({"role": "assistant", "content": first.content})
    messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": c.id, "content": "sunny"} for c in calls]})
    last = client.messages.create(model=model, max_tokens=100, messages=messages, tools=tools)
    assert "sunny" in last.content[0].text


@row("tools")
def with_tools():
    for stream in (False, True):
        loop("weather", stream, 1)


@row("parallel")
def parallel():
    for stream in (False, True):
        loop("parallel", stream, 2)


@row("structured")
def structured():
    answer = client.messages.parse(model="json", max_tokens=100, messages=ask("who?"), output_format=Person)
    assert answer.parsed_output == Person(name="Ann", age=30)


@row("pictures")
def pictures():
    answer = client.messages.create(model="picture", max_tokens=100, messages=ask([
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
        {"type": "text", "text": "what is it?"},
    ]))
    assert answer.content[0].text == "pictures: 1"


@row("abort")
def abort():
    with client.messages.stream(model="slow", max_tokens=100, messages=ask("hi")) as events:
        next(iter(events.text_stream))
    aborted()


@row("errors")
def errors():
    try:
        client.messages.create(model="plian", max_tokens=5, messages=ask("hi"))
        raise AssertionError("an unknown model answered")
    except anthropic.NotFoundError as e:
        assert e.body["error"]["type"] == "not_found_error" and e.request_id
    try:
        client.messages.create(model="long", max_tokens=5, messages=ask("hi"))
        raise AssertionError("what is too long was taken")
    except anthropic.BadRequestError as e:
        assert "prompt is too long" in e.message
    try:
        client.messages.create(model="busy", max_tokens=5, messages=ask("hi"))
        raise AssertionError("a busy model answered")
    except anthropic.RateLimitError:
        pass
