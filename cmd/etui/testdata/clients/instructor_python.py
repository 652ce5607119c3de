import instructor
import openai
from pydantic import BaseModel

from common import KEY, PICTURE, URL, row


class Person(BaseModel):
    name: str
    age: int


def ask(mode, model, content="who?"):
    client = instructor.from_openai(openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0), mode=mode)
    return client.chat.completions.create(model=model, response_model=Person, messages=[{"role": "user", "content": content}], max_retries=1).model_dump()


@row("tools")
def tools():
    assert ask(instructor.Mode.TOOLS, "Person") == {"name": "Ann", "age": 30}


@row("stream")
def stream():
    client = instructor.from_openai(openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0))
    people = list(client.chat.completions.create_partial(model="PartialPerson", response_model=Person, messages=[{"role": "user", "content": "who?"}]))
    assert people[-1].name == "Ann" and people[-1].age == 30


@row("structured")
def structured():
    assert ask(instructor.Mode.JSON_SCHEMA, "json") == {"name": "Ann", "age": 30}


@row("pictures")
def pictures():
    content = [{"type": "text", "text": "who?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PICTURE}}]
    assert ask(instructor.Mode.TOOLS, "Person", content) == {"name": "Ann", "age": 30}


@row("errors")
def errors():
    try:
        ask(instructor.Mode.TOOLS, "plian")
    except Exception as e:
        assert "did you mean" in str(e), e
    else:
        raise AssertionError("an unknown model answered")
