"""What the scripts share: each row of the table that a script tries is a function, and its outcome a
line on standard output, which TestClients reads."""
import json
import sys
import time
import traceback
import urllib.request

URL, MODELS = sys.argv[1], sys.argv[2]
KEY = "none"
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)


def row(name):
    """Runs the function that it decorates, and says how it ended."""
    def run(f):
        try:
            f()
            print(f"\n{name}\tyes", flush=True)  # a client may have written a part of a line
        except BaseException:  # some libraries end the process
            traceback.print_exc()
            print(f"\n{name}\tno", flush=True)
    return run


def aborted():
    """Waits until the model has noticed that nobody reads its answer any more. A conversation that etui
    keeps waits ten seconds for its client to come back."""
    for _ in range(400):
        with urllib.request.urlopen(MODELS + "/aborted") as answer:
            if json.load(answer) > 0:
                return
        time.sleep(0.05)
    raise AssertionError("the model was not stopped")


def weather(city: str) -> str:
    """Say how the weather is in a city."""
    return "sunny in " + city


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
