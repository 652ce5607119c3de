import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from openai import NotFoundError
from pydantic import BaseModel

from common import KEY, PICTURE, URL, row, weather


class Person(BaseModel):
    name: str
    age: int


def model(name, **more):
    return OpenAILike(model=name, api_base=URL + "/v1", api_key=KEY, is_chat_model=True, is_function_calling_model=True, max_retries=0, **more)


def ask(name):
    async def run():
        return str(await FunctionAgent(tools=[weather], llm=model(name)).run("weather?"))
    return asyncio.run(run())


@row("plain")
def plain():
    assert str(model("plain").complete("hi")) == "Hello from the script."
    assert model("plain").chat([ChatMessage(content="hi")]).message.content == "Hello from the script."


@row("stream")
def stream():
    assert "".join(piece.delta for piece in model("plain").stream_chat([ChatMessage(content="hi")])) == "Hello from the script."


@row("tools")
def tools():
    assert "sunny" in ask("weather")
    tool = FunctionTool.from_defaults(weather)
    answer = model("weather").predict_and_call([tool], "weather?")
    assert "sunny" in str(answer)


@row("parallel")
def parallel():
    assert "sunny" in ask("parallel")


@row("structured")
def structured():
    assert model("Person").as_structured_llm(Person).complete("who?").raw == Person(name="Ann", age=30)
    by_api = model("json", should_use_structured_outputs=True)
    assert by_api.as_structured_llm(Person).complete("who?").raw == Person(name="Ann", age=30)


@row("pictures")
def pictures():
    import base64
    answer = model("picture").chat([ChatMessage(blocks=[TextBlock(text="what is it?"), ImageBlock(image=base64.b64decode(PICTURE), image_mimetype="image/png")])])
    assert answer.message.content == "pictures: 1"


@row("errors")
def errors():
    try:
        model("plian").chat([ChatMessage(content="hi")])
    except NotFoundError as e:
        assert "did you mean" in str(e)
    else:
        raise AssertionError("an unknown model answered")
