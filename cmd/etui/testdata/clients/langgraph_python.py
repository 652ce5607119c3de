from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent
from pydantic import BaseModel

from common import KEY, PICTURE, URL, aborted, row, weather


class Person(BaseModel):
    name: str
    age: int


def model(name, **more):
    return ChatOpenAI(model=name, base_url=URL + "/v1", api_key=KEY, max_retries=0, **more)


def ask(agent, **how):
    return agent.invoke({"messages": [{"role": "user", "content": "weather?"}]}, **how)["messages"][-1]


@row("plain")
def plain():
    for more in ({}, {"use_responses_api": True}):
        assert model("plain", **more).invoke("hi").text == "Hello from the script."


@row("stream")
def stream():
    for more in ({}, {"use_responses_api": True}):
        assert "".join(piece.text for piece in model("plain", **more).stream("hi")) == "Hello from the script."


@row("tools")
def tools():
    for more in ({}, {"use_responses_api": True}, {"use_responses_api": True, "use_previous_response_id": True}):
        assert "sunny" in ask(create_react_agent(model("weather", **more), [weather])).text


@row("parallel")
def parallel():
    for more in ({}, {"use_responses_api": True}):
        assert "sunny" in ask(create_react_agent(model("parallel", **more), [weather])).text


@row("structured")
def structured():
    assert model("json").with_structured_output(Person).invoke("who?") == Person(name="Ann", age=30)


@row("pictures")
def pictures():
    answer = model("picture").invoke([{"role": "user", "content": [
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PICTURE}},
    ]}])
    assert answer.text == "pictures: 1"


@row("abort")
def abort():
    pieces = model("slow").stream("hi")
    while not next(pieces).text:
        pass
    pieces.close()
    aborted()


@row("errors")
def errors():
    try:
        model("plian").invoke("hi")
    except Exception as e:
        assert "did you mean" in str(e), e
    else:
        raise AssertionError("an unknown model answered")
