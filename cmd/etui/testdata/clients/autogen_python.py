import asyncio
import base64

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import MultiModalMessage, StructuredMessage
from autogen_core import Image
from autogen_ext.models.openai import OpenAIChatCompletionClient
from pydantic import BaseModel

from common import KEY, PICTURE, URL, row, weather


class Person(BaseModel):
    name: str
    age: int


async def say_weather(city: str) -> str:
    """Say how the weather is in a city."""
    return weather(city)

say_weather.__name__ = "weather"


def agent(name, **more):
    info = {"vision": True, "function_calling": True, "json_output": True, "structured_output": True, "family": "unknown"}
    client = OpenAIChatCompletionClient(model=name, base_url=URL + "/v1", api_key=KEY, model_info=info, max_retries=0)
    return AssistantAgent("helper", client, **more)


def ask(name, task="weather?", **more):
    return asyncio.run(agent(name, **more).run(task=task)).messages[-1]


@row("plain")
def plain():
    assert ask("plain").content == "Hello from the script."


@row("stream")
def stream():
    assert ask("plain", model_client_stream=True).content == "Hello from the script."


@row("tools")
def tools():
    assert "sunny" in ask("weather", tools=[say_weather]).to_text()
    assert "sunny" in ask("weather", tools=[say_weather], reflect_on_tool_use=True).to_text()


@row("parallel")
def parallel():
    assert "sunny" in ask("parallel", tools=[say_weather], reflect_on_tool_use=True).to_text()


@row("structured")
def structured():
    answer = ask("json", output_content_type=Person)
    assert isinstance(answer, StructuredMessage) and answer.content == Person(name="Ann", age=30)


@row("pictures")
def pictures():
    picture = Image.from_base64(PICTURE)
    assert ask("picture", task=MultiModalMessage(content=["what is it?", picture], source="user")).content == "pictures: 1"


@row("errors")
def errors():
    try:
        ask("plian")
    except Exception as e:
        assert "did you mean" in str(e), e
    else:
        raise AssertionError("an unknown model answered")
