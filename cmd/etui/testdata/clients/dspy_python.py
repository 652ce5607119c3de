import dspy

from common import KEY, URL, row, weather


def use(name):
    return dspy.context(lm=dspy.LM("openai/" + name, api_base=URL + "/v1", api_key=KEY, cache=False, num_retries=0))


@row("plain")
def plain():
    with use("dspy"):
        assert dspy.Predict("question -> answer")(question="hi").answer == "Hello from the script."


@row("stream")
def stream():
    with use("dspy"):
        program = dspy.streamify(dspy.Predict("question -> answer"), async_streaming=False)
        last = list(program(question="hi"))[-1]
        assert last.answer == "Hello from the script."


@row("tools")
def tools():
    with use("dspy-react"):
        assert dspy.ReAct("question -> answer", tools=[weather])(question="weather in Paris?").answer == "It is sunny."


@row("structured")
def structured():
    with use("dspy-json"), dspy.context(adapter=dspy.JSONAdapter()):
        assert dspy.Predict("question -> answer: str, score: int")(question="hi").score == 30


@row("errors")
def errors():
    with use("plian"):
        try:
            dspy.Predict("question -> answer")(question="hi")
        except Exception as e:
            assert "did you mean" in str(e), e
        else:
            raise AssertionError("an unknown model answered")
