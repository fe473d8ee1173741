// The workloads on LangGraph.js.
//
// Takes a workload, a size, a budget in milliseconds and a folder; prints one JSON object.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import {
  Annotation,
  Command,
  END,
  MemorySaver,
  START,
  Send,
  StateGraph,
  interrupt,
} from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import Database from "better-sqlite3";

const AGENT_SAYS = "The calendar is free on Tuesday. ".repeat(7).slice(31);
const TOOL_SAYS = "lecture at 8:00 in room B 204;  ".repeat(7).slice(24);
const AGENT = { role: "assistant", content: AGENT_SAYS };
const TOOL = { role: "tool", content: TOOL_SAYS, tool_call_id: "call-1" };

const cpu = () => process.cpuUsage().user + process.cpuUsage().system;
const list = () => Annotation({ reducer: (left, right) => left.concat(right), default: () => [] });
const map = () => Annotation({ reducer: (left, right) => ({ ...left, ...right }), default: () => ({}) });
const config = (steps, thread = "thread") => ({
  recursionLimit: steps + 10,
  configurable: { thread_id: thread },
});

function check(holds, what) {
  if (!holds) throw new Error(what);
}

// The most memory that this process held, its program not counted, where Linux tells.
function peakMemory() {
  try {
    const status = readFileSync("/proc/self/status", "utf8");
    const held = (name) => Number(status.match(new RegExp(`^${name}:\\s+(\\d+) kB`, "m"))[1]);
    return ((held("VmHWM") - held("RssFile")) * 1024) / 1e6;
  } catch {
    return null;
  }
}

function median(values) {
  values.sort((left, right) => left - right);
  const upper = values[Math.floor(values.length / 2)];
  return values.length % 2 ? upper : (values[values.length / 2 - 1] + upper) / 2;
}

// Repeats rounds: one to warm up, then until the budget is used up.
async function measure(budget, units, run, prepare = () => null, bytesOf = () => null) {
  const spent = [];
  const begin = performance.now();
  let peak, bytes;
  do {
    const prepared = await prepare();
    const [before, start] = [cpu(), performance.now()];
    await run(prepared);
    spent.push([cpu() - before, (performance.now() - start) * 1000]);
    bytes = bytesOf(prepared);
    peak ??= peakMemory();
  } while (performance.now() - begin < budget);
  if (spent.length > 1) spent.shift();
  return {
    us_cpu: median(spent.map(([cpu]) => cpu)) / units,
    us_wall: median(spent.map(([, wall]) => wall)) / units,
    peak_rss_mb: peak,
    bytes,
  };
}

// All at once, so many at a time.
async function atOnce(count, width, act) {
  const worker = async (first) => {
    for (let number = first; number < count; number += width) await act(number);
  };
  await Promise.all(Array.from({ length: width }, (_, first) => worker(first)));
}

function chainGraph(size) {
  const builder = new StateGraph(Annotation.Root({ weight: Annotation() }));
  for (let number = 0; number < size; number++) {
    builder.addNode(`node-${number}`, () => ({}));
    builder.addEdge(number ? `node-${number - 1}` : START, `node-${number}`);
  }
  builder.addEdge(`node-${size - 1}`, END);
  return builder.compile();
}

function start(size, budget) {
  const graph = chainGraph(1);
  return measure(budget, size, async () => {
    for (let run = 0; run < size; run++) await graph.invoke({ weight: "" });
  });
}

const build = (size, budget) => measure(budget, size, () => chainGraph(size));

function chain(size, budget, weight) {
  const graph = chainGraph(size);
  const state = { weight: "x".repeat(weight) };
  return measure(budget, size, () => graph.invoke(state, config(size)));
}

function cycle(size, budget) {
  if (size > 100_000) return { unsupported: "needs minutes for a million steps" };
  const graph = new StateGraph(Annotation.Root({ reached: Annotation() }))
    .addNode("count", (state) => ({ reached: state.reached + 1 }))
    .addEdge(START, "count")
    .addConditionalEdges("count", (state) => (state.reached < size ? "count" : END), ["count", END])
    .compile();
  return measure(budget, size, () => graph.invoke({ reached: 0 }, config(size)));
}

function talkGraph(turns, checkpointer, agent = AGENT, tool = TOOL) {
  return new StateGraph(Annotation.Root({ messages: list() }))
    .addNode("agent", () => ({ messages: [agent] }))
    .addNode("tools", () => ({ messages: [tool] }))
    .addEdge(START, "agent")
    .addEdge("agent", "tools")
    .addConditionalEdges(
      "tools",
      (state) => (state.messages.length < 2 * turns ? "agent" : END),
      ["agent", END],
    )
    .compile({ checkpointer });
}

async function say(graph, turns, options = {}) {
  const end = await graph.invoke({ messages: [] }, { ...config(2 * turns), ...options });
  check(end.messages.length === 2 * turns, "each step says one thing");
}

function talk(size, budget) {
  const graph = talkGraph(size);
  return measure(budget, 2 * size, () => say(graph, size));
}

function talkInMemory(size, budget) {
  const prepare = () => talkGraph(size, new MemorySaver());
  return measure(budget, 2 * size, (graph) => say(graph, size, { durability: "sync" }), prepare);
}

function react(size, budget) {
  const call = { id: "call-1", name: "search", arguments: { query: "free on Tuesday? ".repeat(211) } };
  const agent = { role: "assistant", content: "", tool_calls: [call] };
  const tool = { ...TOOL, content: "lecture at 8:00 in room B 204;  ".repeat(1125) };
  const graph = talkGraph(size, undefined, agent, tool);
  return measure(budget, size, () => say(graph, size));
}

function sqlite(folder, synchronous) {
  const own = mkdtempSync(join(folder, "langgraph-js-"));
  const database = new Database(join(own, "checkpoints.db"));
  const saver = new SqliteSaver(database);
  saver.setup();
  database.pragma(`synchronous = ${synchronous}`);
  return { own, database, saver };
}

// What the saver left on disk; the folder is removed.
function bytesOf({ own, database }) {
  const files = readdirSync(own).filter((name) => !name.endsWith("-shm"));
  const bytes = files.map((name) => statSync(join(own, name)).size);
  database.close();
  rmSync(own, { recursive: true });
  return bytes.reduce((left, right) => left + right, 0);
}

function talkInSqlite(size, budget, folder, synchronous) {
  const prepare = () => {
    const store = sqlite(folder, synchronous);
    return { ...store, graph: talkGraph(size, store.saver) };
  };
  const run = ({ graph }) => say(graph, size, { durability: "sync" });
  return measure(budget, 2 * size, run, prepare, bytesOf);
}

function grouped(size, budget, folder) {
  const turns = 25;
  const prepare = () => {
    const store = sqlite(folder, "FULL");
    return { ...store, graph: talkGraph(turns, store.saver) };
  };
  const run = ({ graph }) =>
    atOnce(size, size, (thread) =>
      say(graph, turns, { ...config(2 * turns, `thread-${thread}`), durability: "sync" }),
    );
  return measure(budget, size * turns * 2, run, prepare, bytesOf);
}

function shareOut(size, budget, worker, arg) {
  const Tally = Annotation.Root({ items: Annotation(), squares: list(), sum: Annotation() });
  const send = (state) =>
    Array.from({ length: state.items }, (_, item) => new Send("worker", arg(item)));
  const graph = new StateGraph(Tally)
    .addNode("plan", () => ({}))
    .addNode("worker", worker)
    .addNode("join", (state) => ({ sum: state.squares.reduce((left, right) => left + right, 0) }))
    .addEdge(START, "plan")
    .addConditionalEdges("plan", send, ["worker"])
    .addEdge("worker", "join")
    .addEdge("join", END)
    .compile();
  return measure(budget, size, async () => {
    const end = await graph.invoke({ items: size, squares: [] }, config(10));
    check(end.squares.length === size, "each worker leaves one square");
  });
}

function fanOut(size, budget) {
  return shareOut(size, budget, ({ item }) => ({ squares: [item * item] }), (item) => ({ item }));
}

function subgraph(size, budget) {
  const inner = new StateGraph({
    state: Annotation.Root({ number: Annotation(), squares: Annotation() }),
    output: Annotation.Root({ squares: Annotation() }),
  })
    .addNode("square", (state) => ({ number: state.number ** 2 }))
    .addNode("keep", (state) => ({ squares: [state.number] }))
    .addEdge(START, "square")
    .addEdge("square", "keep")
    .addEdge("keep", END)
    .compile();
  return shareOut(size, budget, inner, (number) => ({ number }));
}

function campaign(size, budget) {
  const enough = " a".repeat(10);
  const inner = new StateGraph({
    state: Annotation.Root({ subject: Annotation(), text: Annotation(), slogans: Annotation() }),
    output: Annotation.Root({ slogans: Annotation() }),
  })
    .addNode("edit", (state) => ({ subject: `${state.subject} - if you please` }))
    .addNode("generate", (state) => ({ text: `A word on ${state.subject}` }))
    .addNode("bump", (state) => ({ text: `${state.text} a`, slogans: [`${state.text} a`] }))
    .addEdge(START, "edit")
    .addEdge("edit", "generate")
    .addEdge("generate", "bump")
    .addConditionalEdges("bump", (state) => (state.text.endsWith(enough) ? END : "bump"), ["bump", END])
    .compile();
  const Campaign = Annotation.Root({ subjects: Annotation(), slogans: list(), length: Annotation() });
  const length = (state) => state.slogans.reduce((sum, slogan) => sum + slogan.length, 0);
  const graph = new StateGraph(Campaign)
    .addNode("plan", () => ({}))
    .addNode("write", inner)
    .addNode("join", (state) => ({ length: length(state) }))
    .addEdge(START, "plan")
    .addConditionalEdges(
      "plan",
      (state) => state.subjects.map((subject) => new Send("write", { subject })),
      ["write"],
    )
    .addEdge("write", "join")
    .addEdge("join", END)
    .compile();
  const subjects = Array.from({ length: size }, (_, number) => `subject ${number}`);
  return measure(budget, 13 * size, async () => {
    const { slogans } = await graph.invoke({ subjects, slogans: [] }, config(20));
    check(slogans.length === size && slogans.every((s) => s.endsWith(enough)), "all is written");
  });
}

function ticketGraph(wanted) {
  const names = ["medium", "autoresponse", "issue", "rules", "memories", "user", "customer"];
  const plain = [...names, "mail_thread", "bot"].map((name) => [name, Annotation()]);
  const Ticket = Annotation.Root({
    ...Object.fromEntries(plain),
    messages: list(),
    events: list(),
    categories: list(),
    responses: list(),
    participants: map(),
    notified: map(),
  });
  const four = ({ events }) => ({ categories: events, responses: events, memories: events });
  const five = ({ categories }) => {
    const person = categories.at(-1);
    return {
      user: person,
      customer: person,
      mail_thread: "thread".repeat(4),
      participants: person,
      bot: "bot".repeat(8),
      notified: person,
    };
  };
  return new StateGraph(Ticket)
    .addNode("one", (state) => ({ events: state.messages, medium: "mail".repeat(6) }))
    .addNode("two", ({ events }) => ({ autoresponse: events.at(-1), issue: events.at(-1) }))
    .addNode("three", (state) => ({ rules: [state.autoresponse] }))
    .addNode("four", four)
    .addNode("five", five)
    .addNode("six", (state) => ({ messages: state.responses }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", "three")
    .addEdge("two", "four")
    .addEdge(["three", "four"], "five")
    .addEdge("five", "six")
    .addConditionalEdges("six", (state) => (state.messages.length > wanted ? END : "one"), ["one", END])
    .compile();
}

function ticket(size, budget) {
  const graph = ticketGraph(size);
  const [outer, inner] = size < 450 ? [5, 5] : size < 900 ? [3, 5] : [3, 3];
  const facts = Array(5).fill(["hello ".repeat(5), true, 1, 6_327_816_386_138, null]).flat();
  const names = (count) => Array.from({ length: count }, (_, key) => String(key).repeat(10));
  const lists = () => Object.fromEntries(names(inner).map((name) => [name, facts]));
  const message = Object.fromEntries(names(outer).map((name) => [name, lists()]));
  return measure(budget, 1, async () => {
    const end = await graph.invoke({ messages: [message] }, config(100));
    const counts = `${end.messages.length}/${end.responses.length}`;
    check(["595/406", "1873/1278"].includes(counts), counts);
  });
}

function wide(size, budget) {
  const builder = new StateGraph(Annotation.Root({ values: map(), rounds: Annotation() }));
  const key = (number) => `key-${String(number).padStart(4, "0")}`;
  const keys = Array.from({ length: 1000 }, (_, number) => key(number));
  for (let number = 0; number < 10; number++) {
    const own = keys.slice(number * 100, (number + 1) * 100);
    builder.addNode(`node-${number}`, (state) => {
      const values = Object.fromEntries(own.map((key) => [key, state.values[key] + 1]));
      return number === 9 ? { values, rounds: state.rounds + 1 } : { values };
    });
    builder.addEdge(number ? `node-${number - 1}` : START, `node-${number}`);
  }
  const graph = builder
    .addConditionalEdges("node-9", (state) => (state.rounds < size ? "node-0" : END), ["node-0", END])
    .compile();
  const state = { values: Object.fromEntries(keys.map((key) => [key, 0])), rounds: 0 };
  return measure(budget, 10 * size, () => graph.invoke(state, config(10 * size)));
}

function approval(checkpointer) {
  return new StateGraph(Annotation.Root({ approved: Annotation() }))
    .addNode("ask", () => ({ approved: interrupt("Write it?") }))
    .addEdge(START, "ask")
    .addEdge("ask", END)
    .compile({ checkpointer });
}

const one = (graph, thread, feed) =>
  graph.invoke(feed, { ...config(10, `thread-${thread}`), durability: "sync" });

function interrupts(size, budget, folder) {
  const prepare = () => {
    const store = sqlite(folder, "FULL");
    return { ...store, graph: approval(store.saver) };
  };
  const run = async ({ graph }) => {
    await atOnce(size, 64, (thread) => one(graph, thread, { approved: false }));
    await atOnce(size, 64, (thread) => one(graph, thread, new Command({ resume: true })));
  };
  return measure(budget, size, run, prepare, bytesOf);
}

async function parked(size, budget, folder) {
  if (size > 10_000) return { unsupported: "needs minutes to park 100,000 threads" };
  const store = sqlite(folder, "OFF");
  const graph = approval(store.saver);
  for (let thread = 0; thread < size; thread++) await one(graph, thread, { approved: false });
  store.database.pragma("synchronous = FULL");
  const [units, took] = [Math.min(size, 1000), []];
  const [before, start] = [cpu(), performance.now()];
  for (let number = 0; number < units; number++) {
    const begin = performance.now();
    const end = await one(graph, number * Math.floor(size / units), new Command({ resume: true }));
    check(end.approved, "the answer arrived");
    took.push((performance.now() - begin) * 1000);
  }
  const [us_cpu, us_wall] = [(cpu() - before) / units, ((performance.now() - start) * 1000) / units];
  took.sort((left, right) => left - right);
  const below = (percent) => took[Math.floor((units * percent) / 100)];
  const peak_rss_mb = peakMemory();
  bytesOf(store);
  return { us_cpu, us_wall, peak_rss_mb, p50_us: below(50), p99_us: below(99) };
}

function events(size, budget) {
  const produce = (_, { writer }) => {
    for (let event = 0; event < size; event++) writer("word ");
    return {};
  };
  const graph = new StateGraph(Annotation.Root({ weight: Annotation() }))
    .addNode("produce", produce)
    .addEdge(START, "produce")
    .addEdge("produce", END)
    .compile();
  return measure(budget, size, async () => {
    let seen = 0;
    for await (const _ of await graph.stream({ weight: "" }, { streamMode: "custom" })) seen++;
    check(seen === size, "all events arrive");
  });
}

async function open(size, budget, folder) {
  const store = sqlite(folder, "OFF");
  // Each checkpoint holds the whole list: the newest is what opening reads.
  const graph = talkGraph(size / 2, store.saver);
  await say(graph, size / 2, { durability: "exit" });
  const result = await measure(budget, 1, async () => {
    const { values } = await graph.getState(config(size));
    check(values.messages.length === size, "everything is read back");
  });
  bytesOf(store);
  return result;
}

// A graph that says when it begins the step of this number, and waits to be killed.
function survivor(file, steps) {
  const checkpointer = new SqliteSaver(new Database(file));
  const speak = async ({ messages }) => {
    if (messages.length >= steps) {
      console.log(cpu());
      await new Promise((resolve) => process.stdin.once("end", resolve).resume());
    }
    return { messages: [AGENT] };
  };
  return new StateGraph(Annotation.Root({ messages: list() }))
    .addNode("speak", speak)
    .addEdge(START, "speak")
    .addEdge("speak", "speak")
    .compile({ checkpointer });
}

async function recover(size, budget, folder) {
  const own = mkdtempSync(join(folder, "langgraph-js-"));
  const file = join(own, "checkpoints.db");
  // Step by step it would write gigabytes: the state is as it would be, its history is not.
  await survivor(file, size + 1).updateState(config(size), { messages: Array(size).fill(AGENT) }, "speak");
  const [spent, begin] = [[], performance.now()];
  do {
    const start = performance.now();
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), "--survive", file, ++size], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const line = await new Promise((told) => createInterface(child.stdout).once("line", told));
    spent.push([Number(line), (performance.now() - start) * 1000]);
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  } while (performance.now() - begin < budget);
  rmSync(own, { recursive: true });
  return {
    us_cpu: median(spent.map(([cpu]) => cpu)),
    us_wall: median(spent.map(([, wall]) => wall)),
  };
}

const workloads = {
  start,
  build,
  chain: (size, budget) => chain(size, budget, 0),
  "heavy-chain": (size, budget) => chain(size, budget, 100_000),
  cycle,
  loop: talk,
  "loop-memory": talkInMemory,
  "loop-normal": (size, budget, folder) => talkInSqlite(size, budget, folder, "NORMAL"),
  "loop-full": (size, budget, folder) => talkInSqlite(size, budget, folder, "FULL"),
  grouped,
  "fan-out": fanOut,
  subgraph,
  "fan-out-subgraph": campaign,
  wide,
  "wide-state": ticket,
  react,
  interrupt: interrupts,
  parked,
  events,
  open,
  recover,
};

const reasons = {
  postgres: "is measured by its Python twin",
  redis: "its Redis saver needs a server with modules for JSON and search",
};

const [workload, size, milliseconds, folder] = process.argv.slice(2);
if (workload === "--survive") {
  const [, file, steps] = process.argv.slice(2);
  await survivor(file, Number(steps)).invoke(null, { ...config(Number(steps)), durability: "sync" });
} else {
  const unsupported = reasons[workload] ?? "has no record of what was done to the outside world";
  const act = workloads[workload] ?? (() => ({ unsupported }));
  console.log(JSON.stringify(await act(Number(size), Number(milliseconds), folder)));
}
