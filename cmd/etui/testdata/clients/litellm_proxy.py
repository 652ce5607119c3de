"""The proxy of LiteLLM in front of etui, asked by the clients of OpenAI and Anthropic."""
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import anthropic
import openai

from common import KEY, URL, row

MASTER = "sk-the-key-of-the-proxy-that-only-this-test-knows"
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
config = tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False)
config.write(f"""
model_list:
  - model_name: "*"
    litellm_params: {{model: "openai/*", api_base: "{URL}/v1", api_key: "{KEY}"}}
router_settings: {{num_retries: 0}}
""")
config.close()
proxy = subprocess.Popen(
    [os.path.join(os.path.dirname(sys.executable), "litellm"), "--config", config.name, "--host", "127.0.0.1", "--port", str(port)],
    stdout=sys.stderr, stderr=sys.stderr, env=os.environ | {"LITELLM_MASTER_KEY": MASTER})
address = f"http://127.0.0.1:{port}"
try:
    for _ in range(600):
        try:
            urllib.request.urlopen(address + "/health/liveliness")
            break
        except OSError:
            time.sleep(0.2)
    client = openai.OpenAI(base_url=address + "/v1", api_key=MASTER, max_retries=0)
    other = anthropic.Anthropic(base_url=address, api_key=MASTER, max_retries=0)
    ask = [{"role": "user", "content": "weather?"}]
    tool = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

    @row("plain")
    def plain():
        assert client.chat.completions.create(model="plain", messages=ask).choices[0].message.content == "Hello from the script."
        assert other.messages.create(model="plain", max_tokens=100, messages=ask).content[0].text == "Hello from the script."

    @row("stream")
    def stream():
        pieces = client.chat.completions.create(model="plain", messages=ask, stream=True)
        assert "".join(c.choices[0].delta.content or "" for c in pieces) == "Hello from the script."
        with other.messages.stream(model="plain", max_tokens=100, messages=ask) as events:
            assert "".join(events.text_stream) == "Hello from the script."

    @row("tools")
    def tools():
        functions = [{"type": "function", "function": {"name": "weather", "description": "weather", "parameters": tool}}]
        messages = list(ask)
        first = client.chat.completions.create(model="parallel", messages=messages, tools=functions).choices[0].message
        messages.append(first.model_dump(exclude_none=True))
        for c in first.tool_calls:
            messages.append({"role": "tool", "tool_call_id": c.id, "content": "sunny"})
        assert "sunny" in client.chat.completions.create(model="parallel", messages=messages, tools=functions).choices[0].message.content
        functions = [{"name": "weather", "description": "weather", "input_schema": tool}]
        messages = list(ask)
        said = other.messages.create(model="weather", max_tokens=100, messages=messages, tools=functions)
        results = [{"type": "tool_result", "tool_use_id": b.id, "content": "sunny"} for b in said.content if b.type == "tool_use"]
        messages += [{"role": "assistant", "content": said.content}, {"role": "user", "content": results}]
        assert "sunny" in other.messages.create(model="weather", max_tokens=100, messages=messages, tools=functions).content[0].text

    @row("errors")
    def errors():
        for model, kind in (("plian", openai.NotFoundError), ("long", openai.BadRequestError), ("busy", openai.RateLimitError)):
            try:
                client.chat.completions.create(model=model, messages=ask)
            except kind:
                pass
            else:
                raise AssertionError("an unknown model answered")
finally:
    proxy.terminate()
    proxy.wait()
