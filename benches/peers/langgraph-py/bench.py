"""The workloads on LangGraph.

Takes a workload, a size, a budget in milliseconds and a folder; prints one JSON object.
"""

import json
import operator
import os
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, StreamWriter, interrupt

AGENT_SAYS = ("The calendar is free on Tuesday. " * 7)[31:]
TOOL_SAYS = ("lecture at 8:00 in room B 204;  " * 7)[24:]


def measure(size, budget, prepare, run, units, bytes_of=lambda prepared: None):
    """Repeats rounds: one to warm up, then until the budget is used up."""
    spent, left = [], None
    begin = time.monotonic()
    while True:
        prepared = prepare()
        cpu, wall = time.process_time(), time.monotonic()
        run(prepared)
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        left = bytes_of(prepared)
        spent.append((cpu, wall))
        if len(spent) == 1:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        if time.monotonic() - begin >= budget:
            break
    if len(spent) > 1:
        spent = spent[1:]
    return {
        "us_cpu": statistics.median(cpu for cpu, _ in spent) * 1e6 / units,
        "us_wall": statistics.median(wall for _, wall in spent) * 1e6 / units,
        "peak_rss_mb": peak,
        "bytes": left,
    }


class Still(TypedDict):
    weight: str


class Count(TypedDict):
    reached: int


class Talk(TypedDict):
    messages: Annotated[list, operator.add]


class Tally(TypedDict):
    items: int
    squares: Annotated[list, operator.add]
    sum: int


class Wide(TypedDict):
    values: Annotated[dict, operator.or_]
    rounds: int


class Approval(TypedDict):
    approved: bool


def config(steps, thread="thread"):
    return {"recursion_limit": steps + 10, "configurable": {"thread_id": thread}}


def chain(size, budget, weight):
    builder = StateGraph(Still)
    for number in range(size):
        builder.add_node(f"node-{number}", lambda state: {})
        builder.add_edge(f"node-{number - 1}" if number else START, f"node-{number}")
    builder.add_edge(f"node-{size - 1}", END)
    graph = builder.compile()
    state = {"weight": "x" * weight}
    return measure(size, budget, lambda: None, lambda _: graph.invoke(state, config(size)), size)


def start(size, budget):
    builder = StateGraph(Still)
    builder.add_node("only", lambda state: {})
    builder.add_edge(START, "only")
    builder.add_edge("only", END)
    graph = builder.compile()

    def run(_):
        for _ in range(size):
            graph.invoke({"weight": ""})

    return measure(size, budget, lambda: None, run, size)


def cycle(size, budget):
    if size > 100_000:
        return {"unsupported": "needs minutes for a million steps"}
    builder = StateGraph(Count)
    builder.add_node("count", lambda state: {"reached": state["reached"] + 1})
    builder.add_edge(START, "count")
    builder.add_conditional_edges(
        "count", lambda state: "count" if state["reached"] < size else END, ["count", END]
    )
    graph = builder.compile()
    return measure(
        size, budget, lambda: None, lambda _: graph.invoke({"reached": 0}, config(size)), size
    )


def talk_graph(turns, saver=None):
    agent = {"role": "assistant", "content": AGENT_SAYS}
    tool = {"role": "tool", "content": TOOL_SAYS, "tool_call_id": "call-1"}
    builder = StateGraph(Talk)
    builder.add_node("agent", lambda state: {"messages": [agent]})
    builder.add_node("tools", lambda state: {"messages": [tool]})
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "tools")
    builder.add_conditional_edges(
        "tools", lambda state: "agent" if len(state["messages"]) < 2 * turns else END, ["agent", END]
    )
    return builder.compile(checkpointer=saver)


def talk(size, budget, saver_of=lambda: None, bytes_of=lambda prepared: None):
    def run(prepared):
        graph, saver = prepared
        durability = "sync" if saver else None
        done = graph.invoke({"messages": []}, config(2 * size), durability=durability)
        assert len(done["messages"]) == 2 * size

    def prepare():
        saver = saver_of()
        return talk_graph(size, saver), saver

    return measure(size, budget, prepare, run, 2 * size, bytes_of)


def sqlite_saver(folder, synchronous):
    file = os.path.join(tempfile.mkdtemp(dir=folder), "checkpoints.db")
    connection = sqlite3.connect(file, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    connection.execute(f"PRAGMA synchronous={synchronous}")
    saver.file = file
    return saver


def sqlite_bytes(prepared):
    """What the saver left on disk; the folder is removed."""
    _, saver = prepared
    folder = os.path.dirname(saver.file)
    names = [os.path.join(folder, name) for name in os.listdir(folder)]
    size = sum(os.path.getsize(name) for name in names if not name.endswith("-shm"))
    saver.conn.close()
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    os.rmdir(folder)
    return size


def grouped(size, budget, folder):
    turns = 25

    def run(prepared):
        graph, _ = prepared

        def one(thread):
            graph.invoke({"messages": []}, config(2 * turns, f"thread-{thread}"), durability="sync")

        with ThreadPoolExecutor(size) as pool:
            list(pool.map(one, range(size)))

    def prepare():
        saver = sqlite_saver(folder, "FULL")
        return talk_graph(turns, saver), saver

    return measure(size, budget, prepare, run, size * turns * 2, sqlite_bytes)


def fan_out(size, budget):
    builder = StateGraph(Tally)
    builder.add_node("plan", lambda state: {})
    builder.add_node("worker", lambda item: {"squares": [item * item]})
    builder.add_node("join", lambda state: {"sum": sum(state["squares"])})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges(
        "plan", lambda state: [Send("worker", item) for item in range(state["items"])], ["worker"]
    )
    builder.add_edge("worker", "join")
    builder.add_edge("join", END)
    graph = builder.compile()

    def run(_):
        done = graph.invoke({"items": size, "squares": []}, config(10))
        assert len(done["squares"]) == size

    return measure(size, budget, lambda: None, run, size)


def wide(size, budget):
    def grower(number):
        keys = [f"key-{key:04}" for key in range(number * 100, (number + 1) * 100)]

        def grow(state):
            values = state["values"]
            change = {"values": {key: values[key] + 1 for key in keys}}
            if number == 9:
                change["rounds"] = state["rounds"] + 1
            return change

        return grow

    builder = StateGraph(Wide)
    for number in range(10):
        builder.add_node(f"node-{number}", grower(number))
        builder.add_edge(f"node-{number - 1}" if number else START, f"node-{number}")
    builder.add_conditional_edges(
        "node-9", lambda state: "node-0" if state["rounds"] < size else END, ["node-0", END]
    )
    graph = builder.compile()
    state = {"values": {f"key-{key:04}": 0 for key in range(1000)}, "rounds": 0}
    return measure(
        size, budget, lambda: None, lambda _: graph.invoke(state, config(10 * size)), 10 * size
    )


def interrupts(size, budget, folder):
    builder = StateGraph(Approval)
    builder.add_node("ask", lambda state: {"approved": interrupt("Write it?")})
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)

    def run(prepared):
        graph, _ = prepared
        for feed in ({"approved": False}, Command(resume=True)):

            def one(thread):
                graph.invoke(feed, config(10, f"thread-{thread}"), durability="sync")

            with ThreadPoolExecutor(64) as pool:
                list(pool.map(one, range(size)))

    def prepare():
        saver = sqlite_saver(folder, "FULL")
        return builder.compile(checkpointer=saver), saver

    return measure(size, budget, prepare, run, size, sqlite_bytes)


def events(size, budget):
    def produce(state, writer: StreamWriter):
        for _ in range(size):
            writer("word ")
        return {}

    builder = StateGraph(Still)
    builder.add_node("produce", produce)
    builder.add_edge(START, "produce")
    builder.add_edge("produce", END)
    graph = builder.compile()

    def run(_):
        seen = sum(1 for _ in graph.stream({"weight": ""}, stream_mode="custom"))
        assert seen == size

    return measure(size, budget, lambda: None, run, size)


def open_thread(size, budget, folder):
    saver = sqlite_saver(folder, "OFF")
    # Each checkpoint holds the whole list: the newest is what opening reads.
    graph = talk_graph(size // 2, saver)
    graph.invoke({"messages": []}, config(size), durability="exit")

    def run(_):
        assert len(graph.get_state(config(size)).values["messages"]) == size

    result = measure(size, budget, lambda: None, run, 1)
    sqlite_bytes((graph, saver))
    return result


def main():
    workload, size, milliseconds, folder = sys.argv[1:]
    size, budget = int(size), int(milliseconds) / 1000

    def talk_in_sqlite(synchronous):
        return talk(size, budget, lambda: sqlite_saver(folder, synchronous), sqlite_bytes)

    workloads = {
        "start": lambda: start(size, budget),
        "chain": lambda: chain(size, budget, 0),
        "heavy-chain": lambda: chain(size, budget, 100_000),
        "cycle": lambda: cycle(size, budget),
        "loop": lambda: talk(size, budget),
        "loop-memory": lambda: talk(size, budget, InMemorySaver),
        "loop-normal": lambda: talk_in_sqlite("NORMAL"),
        "loop-full": lambda: talk_in_sqlite("FULL"),
        "grouped": lambda: grouped(size, budget, folder),
        "fan-out": lambda: fan_out(size, budget),
        "wide": lambda: wide(size, budget),
        "interrupt": lambda: interrupts(size, budget, folder),
        "events": lambda: events(size, budget),
        "open": lambda: open_thread(size, budget, folder),
    }
    unknown = {"unsupported": f"no such workload: {workload}"}
    print(json.dumps(workloads.get(workload, lambda: unknown)()))


if __name__ == "__main__":
    main()
