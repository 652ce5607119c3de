import openai
from pydantic import BaseModel

from common import KEY, PICTURE, URL, aborted, row

client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
ask = lambda text: [{"role": "user", "content": text}]
parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "weather", "description": "weather of a city", "parameters": parameters}}]


class Person(BaseModel):
    name: str
    age: int


@row("plain")
def plain():
    answer = client.chat.completions.create(model="plain", messages=ask("hi"))
    assert answer.choices[0].message.content == "Hello from the script."
    answer = client.responses.create(model="plain", input="hi")
    assert answer.output_text == "Hello from the script."


@row("stream")
def stream():
    pieces = [c.choices[0].delta.content or "" for c in client.chat.completions.create(model="plain", messages=ask("hi"), stream=True)]
    assert "".join(pieces) == "Hello from the script.", pieces
    with client.responses.stream(model="plain", input="hi") as events:
        assert events.get_final_response().output_text == "Hello from the script."


def loop(model, stream, count):
    messages = ask("weather?")
    if stream:
        with client.chat.completions.stream(model=model, messages=messages, tools=tools) as events:
            choice = events.get_final_completion().choices[0]
    else:
        choice = client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0]
    assert choice.finish_reason == "tool_calls" and len(choice.message.tool_calls) == count
    messages.append(choice.message.model_dump(exclude_none=True))
    for c in choice.message.tool_calls:
        messages.append({"role": "tool", "tool_call_id": c.id, "content": "sunny"})
    answer = client.chat.completions.create(model=model, messages=messages, tools=tools)
    assert "sunny" in answer.choices[0].message.content


def items(model, count):
    functions = [{"type": "function", "name": "weather", "description": "weather of a city", "parameters": parameters, "strict": False}]
    first = client.responses.create(model=model, input="weather?", tools=functions)
    calls = [o for o in first.output if o.type == "function_call"]
    assert len(calls) == count, first.output
    results = [{"type": "function_call_output", "call_id": c.call_id, "output": "sunny"} for c in calls]
    last = client.responses.create(model=model, input=results, tools=functions, previous_response_id=first.id)
    assert "sunny" in last.output_text


@row("tools")
def with_tools():
    for stream in (False, True):
        loop("weather", stream, 1)
    items("weather", 1)


@row("parallel")
def parallel():
    for stream in (False, True):
        loop("parallel", stream, 2)
    items("parallel", 2)


@row("structured")
def structured():
    answer = client.chat.completions.parse(model="json", messages=ask("who?"), response_format=Person)
    assert answer.choices[0].message.parsed == Person(name="Ann", age=30)
    answer = client.responses.parse(model="json", input="who?", text_format=Person)
    assert answer.output_parsed == Person(name="Ann", age=30)


@row("pictures")
def pictures():
    data = "data:image/png;base64," + PICTURE
    answer = client.chat.completions.create(model="picture", messages=ask(
        [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": data}}]))
    assert answer.choices[0].message.content == "pictures: 1"
    answer = client.responses.create(model="picture", input=ask(
        [{"type": "input_text", "text": "what is it?"}, {"type": "input_image", "image_url": data, "detail": "auto"}]))
    assert answer.output_text == "pictures: 1"


@row("abort")
def abort():
    with client.chat.completions.create(model="slow", messages=ask("hi"), stream=True) as events:
        next(iter(events))
    aborted()
    with client.responses.create(model="slow", input="hi", stream=True, store=False) as events:
        for event in events:
            if event.type == "response.output_text.delta":
                break
    aborted()


@row("errors")
def errors():
    for call in (
        lambda: client.chat.completions.create(model="plian", messages=ask("hi")),
        lambda: client.responses.create(model="plian", input="hi"),
    ):
        try:
            call()
            raise AssertionError("an unknown model answered")
        except openai.NotFoundError as e:
            assert e.code == "model_not_found" and e.request_id
    try:
        client.chat.completions.create(model="plain", messages=ask("hi"), temperature=7)
        raise AssertionError("a temperature of 7 was taken")
    except openai.BadRequestError as e:
        assert e.param == "temperature"
    try:
        client.chat.completions.create(model="long", messages=ask("hi"))
        raise AssertionError("what is too long was taken")
    except openai.BadRequestError as e:
        assert e.code == "context_length_exceeded"
    try:
        client.chat.completions.create(model="busy", messages=ask("hi"))
        raise AssertionError("a busy model answered")
    except openai.RateLimitError:
        pass
