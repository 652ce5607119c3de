import asyncio

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, NativeOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from common import KEY, PICTURE, URL, row, weather

provider = OpenAIProvider(base_url=URL + "/v1", api_key=KEY)
kinds = (OpenAIResponsesModel, OpenAIChatModel)


class Person(BaseModel):
    name: str
    age: int


@row("plain")
def plain():
    for kind in kinds:
        assert Agent(kind("plain", provider=provider)).run_sync("hi").output == "Hello from the script."


@row("stream")
def stream():
    async def run(kind):
        async with Agent(kind("weather", provider=provider), tools=[weather]).run_stream("weather?") as result:
            assert "sunny" in await result.get_output()
    for kind in kinds:
        asyncio.run(run(kind))


@row("tools")
def tools():
    for kind in kinds:
        agent = Agent(kind("weather", provider=provider), tools=[weather])
        result = agent.run_sync("weather?")
        assert "sunny" in result.output
        assert agent.run_sync("thanks", message_history=result.all_messages()).output == "You are welcome."


@row("parallel")
def parallel():
    for kind in kinds:
        assert "sunny" in Agent(kind("parallel", provider=provider), tools=[weather]).run_sync("weather?").output


@row("structured")
def structured():
    for kind in kinds:  # by a tool, as is the default, and by the API
        assert Agent(kind("final_result", provider=provider), output_type=Person).run_sync("who?").output == Person(name="Ann", age=30)
        assert Agent(kind("json", provider=provider), output_type=NativeOutput(Person)).run_sync("who?").output == Person(name="Ann", age=30)


@row("pictures")
def pictures():
    import base64
    picture = BinaryContent(base64.b64decode(PICTURE), media_type="image/png")
    for kind in kinds:
        assert Agent(kind("picture", provider=provider)).run_sync(["what is it?", picture]).output == "pictures: 1"


@row("errors")
def errors():
    for kind in kinds:
        try:
            Agent(kind("plian", provider=provider)).run_sync("hi")
        except ModelHTTPError as e:
            assert e.status_code == 404
        else:
            raise AssertionError("an unknown model answered")
