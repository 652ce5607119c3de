from smolagents import CodeAgent, OpenAIServerModel, ToolCallingAgent, tool

from common import KEY, URL, row


@tool
def weather(city: str) -> str:
    """Say how the weather is in a city.

    Args:
        city: name of the city
    """
    return "sunny in " + city


def model(name):
    return OpenAIServerModel(name, api_base=URL + "/v1", api_key=KEY)


@row("plain")
def plain():  # its default writes code
    assert CodeAgent(tools=[weather], model=model("smolagents-code"), verbosity_level=0).run("weather in Paris?") == "sunny in Paris"


@row("stream")
def stream():
    agent = CodeAgent(tools=[weather], model=model("smolagents-code"), verbosity_level=0, stream_outputs=True)
    assert agent.run("weather in Paris?") == "sunny in Paris"


@row("tools")
def tools():
    agent = ToolCallingAgent(tools=[weather], model=model("smolagents-tools"), verbosity_level=0)
    assert agent.run("weather in Paris?") == "It is sunny."


@row("errors")
def errors():
    try:
        CodeAgent(tools=[], model=model("plian"), verbosity_level=0, max_steps=1).run("hi")
    except Exception as e:
        assert "did you mean" in str(e), e
    else:
        raise AssertionError("an unknown model answered")
