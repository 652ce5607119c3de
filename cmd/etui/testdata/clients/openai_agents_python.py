import asyncio

from agents import Agent, Runner, function_tool, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI, NotFoundError
from pydantic import BaseModel

from common import KEY, PICTURE, URL, row, weather

set_tracing_disabled(True)
set_default_openai_client(AsyncOpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0), use_for_tracing=False)
tool = function_tool(weather)
loop = asyncio.new_event_loop()  # of the client's connections
asyncio.set_event_loop(loop)


class Person(BaseModel):
    name: str
    age: int


@row("plain")
def plain():
    assert Runner.run_sync(Agent(name="a", model="plain"), "hi").final_output == "Hello from the script."


@row("stream")
def stream():
    async def run():
        result = Runner.run_streamed(Agent(name="a", model="weather", tools=[tool]), "weather?")
        kinds = [e.type async for e in result.stream_events()]
        assert "sunny" in result.final_output and "run_item_stream_event" in kinds
    loop.run_until_complete(run())


@row("tools")
def tools():
    result = Runner.run_sync(Agent(name="a", model="weather", tools=[tool]), "weather?")
    assert "sunny" in result.final_output
    again = Runner.run_sync(Agent(name="a", model="weather", tools=[tool]), result.to_input_list() + [{"role": "user", "content": "thanks"}])
    assert again.final_output == "You are welcome."


@row("parallel")
def parallel():
    assert "sunny" in Runner.run_sync(Agent(name="a", model="parallel", tools=[tool]), "weather?").final_output


@row("structured")
def structured():
    assert Runner.run_sync(Agent(name="a", model="json", output_type=Person), "who?").final_output == Person(name="Ann", age=30)


@row("pictures")
def pictures():
    result = Runner.run_sync(Agent(name="a", model="picture"), [{"role": "user", "content": [
        {"type": "input_image", "image_url": "data:image/png;base64," + PICTURE, "detail": "auto"},
        {"type": "input_text", "text": "what is it?"},
    ]}])
    assert result.final_output == "pictures: 1"


@row("errors")
def errors():
    try:
        Runner.run_sync(Agent(name="a", model="plian"), "hi")
    except NotFoundError as e:
        assert "did you mean" in str(e)
    else:
        raise AssertionError("an unknown model answered")
