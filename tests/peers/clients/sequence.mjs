// From a request to its summary through each protocol, with a client of that protocol, in both languages;
// then cards that are rejected, a question, and plain talk. The server is killed after each answer, and
// another one goes on:
// node sequence.mjs <scheduler> <python>
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { modelServer } from "./model.mjs";
import { within } from "./said.mjs";
import { protocols } from "./sequence_clients.mjs";

const APPROVE = { action: "approve" };
const [scheduler, python] = process.argv.slice(2);
const languages = {
  en: {
    text: "Arrange next week's revision",
    says: ["I look first.", "The first chapter fits here.", "All done."],
    steps: ["Find a place for the first chapter", "Check that it has its place"],
    no: ["one step is enough", "not on that day"],
    asks: "Mornings or evenings?",
    answer: "mornings",
    stops: "I leave it as it was.",
    talk: ["Thank you, how are you?", "Very well, thank you."],
  },
  zh: {
    text: "帮我安排下周的复习",
    says: ["先看看。", "第一章放这里。", "都安排好了。"],
    steps: ["给第一章找个时间", "确认第一章有了时间"],
    no: ["一步就够了", "那天不行"],
    asks: "早上还是晚上？",
    answer: "早上",
    stops: "那就先不动了。",
    talk: ["谢谢，你好吗？", "很好，谢谢。"],
  },
};
// The first item of the sample that has no place, and a day on which the early afternoon is free: the
// sample begins on the day of the run, so both differ from day to day.
async function free(url) {
  const { schedule } = await (await fetch(`${url}/calendar`)).json();
  const task = schedule.tasks.find((it) => it.status === "pending");
  const { excluded_days_of_week } = schedule.task_classes.find((it) => it.id === task.task_class_id);
  const taken = schedule.tasks.flatMap((it) => it.slots).filter((it) => it.slot_start <= 6 && it.slot_end >= 5);
  const day = schedule.window.days.find(
    (it) =>
      it.day_index > 1 &&
      !excluded_days_of_week.includes(it.day_of_week) &&
      !taken.some((slot) => slot.day === it.day_index),
  ).day_index;
  return { task: task.state_id, place: { day, slot_start: 5 }, slots: [{ day, slot_start: 5, slot_end: 6 }] };
}

const call = (action, name, args) => ({ action, tool_call: { name, arguments: args } });
const plan = (steps) => ({
  decision: { action: "plan_done", plan_steps: steps.map((content) => ({ content, done_when: "the result shows it" })) },
});

// What the model says to each of the three requests.
function script({ steps, says: [look, fits, done] }, { task, place }) {
  const ends = (action) => ({ action, goal_check: "the result shows it" });
  return [
    [{ decision: { intent: "task" } }, plan(steps)],
    [
      { decision: call("continue", "get_overview", {}), says: look },
      { decision: call("continue", "find_free", { duration: 2 }) },
      { decision: call("confirm", "place", { task_id: task, ...place }), says: fits },
    ],
    [
      { decision: ends("next_plan") },
      { decision: call("continue", "list_tasks", { status: "existing" }) },
      { decision: ends("done") },
      { says: done },
    ],
  ];
}

async function serve(lang, model, work) {
  const dir = await mkdtemp(path.join(tmpdir(), "fugato-sequence-"));
  const start = async (listen) => {
    const args = ["serve", "--listen", listen, "--dir", dir, "--lang", lang, "--base-url", model.url, "--model", "scripted"];
    const server = spawn(scheduler, args, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(server, "exit");
    const [line] = await within(once(createInterface(server.stdout), "line"), "the scheduler");
    const end = async (signal) => {
      server.kill(signal);
      await ended;
    };
    return { url: line.match(/http:\/\/[^/]+/)[0], end };
  };
  let server = await start("127.0.0.1:0");
  const crash = async () => {
    await server.end("SIGKILL");
    server = await start(new URL(server.url).host);
  };
  try {
    await work(server.url, crash);
  } finally {
    await server.end("SIGTERM");
    await rm(dir, { recursive: true });
  }
}

// A conversation through one protocol, whose server is killed after each step.
async function conversation(url, crash, model, open, task) {
  const client = await open(url);
  const state = async () => {
    const read = await fetch(`${url}/threads/${client.thread()}/state`);
    const { state } = await read.json();
    const of = (schedule) => schedule?.tasks.find((it) => it.state_id === task);
    return { phase: state.phase, lies: of(state.schedule)?.slots, kept: of(state.stored) };
  };
  const step = async (act, answers) => {
    model.answers.push(...answers);
    const seen = await within(act(), "an answer");
    assert.equal(model.answers.length, 0, "the model was asked as often as expected");
    await crash();
    await client.reopen?.();
    return seen;
  };
  return { client, state, step };
}

// The three requests through one protocol, and what must hold after each.
async function sequence(url, crash, model, open, lang) {
  const { text, says } = languages[lang];
  const found = await free(url);
  const { task, slots } = found;
  const answers = script(languages[lang], found);
  const { client, state, step } = await conversation(url, crash, model, open, task);

  const planned = await step(() => client.ask(text), answers[0]);
  assert.deepEqual(planned.tools, []);
  assert.equal(planned.card?.summary.split("\n").length, 2);
  assert.deepEqual(await state(), { phase: "interrupted", lies: undefined, kept: undefined });

  const wanted = await step(() => client.answer(planned.card, APPROVE), answers[1]);
  assert.deepEqual(wanted.tools, ["get_overview", "find_free"]);
  assert.ok(wanted.said.includes(says[0]), wanted.said);
  assert.match(wanted.card?.summary, /“.+” goes to|《.+》安排到/);
  assert.deepEqual((await state()).lies, []);

  const before = model.asked.length;
  const done = await step(() => client.answer(wanted.card, APPROVE), answers[2]);
  assert.deepEqual([done.tools, done.card], [["place", "list_tasks"], undefined]);
  assert.ok(done.said.endsWith(says[2]), done.said);
  // The accepted call had been made before the model was asked again.
  const told = model.asked[before].map((message) => message.content).join("\n");
  const placed = { en: "placed task", zh: "已安排任务" }[lang];
  assert.ok(told.includes(`${placed} ${task}`), told);
  const end = await state();
  assert.deepEqual([end.phase, end.lies, end.kept.slots, end.kept.status], ["done", slots, slots, "existing"]);
  client.close?.();
}

// A plan and a write that are rejected with a reason, a question, and plain talk.
async function rejected(url, crash, model, open, lang) {
  const { text, says, steps, no, asks, answer, stops, talk } = languages[lang];
  const { task, place } = await free(url);
  const { client, state, step } = await conversation(url, crash, model, open, task);
  const told = () => model.asked.at(-1).map((message) => message.content).join("\n");

  const first = await step(() => client.ask(text), [{ decision: { intent: "task" } }, plan(steps)]);
  const second = await step(
    () => client.answer(first.card, { action: "reject", text: no[0] }),
    [plan(steps.slice(0, 1))],
  );
  assert.equal(second.card.summary.split("\n").length, 1);
  assert.ok(told().includes(no[0]), told());

  const question = await step(
    () => client.answer(second.card, APPROVE),
    [{ decision: { action: "ask_user", speak: asks } }],
  );
  assert.ok(question.card.summary.includes(asks), question.card.summary);
  const wanted = await step(
    () => client.answer(question.card, { text: answer }),
    [{ decision: call("confirm", "place", { task_id: task, ...place }), says: says[1] }],
  );
  assert.ok(told().includes(answer), told());
  assert.deepEqual([wanted.tools, (await state()).lies], [[], []]);

  // An answer to a card that is closed and one that is none change nothing.
  const head = async () => (await (await fetch(`${url}/threads/${client.thread()}`)).json()).head;
  const before = await head();
  const id = ({ interaction_id, id }) => interaction_id ?? id;
  for (const [card, reply, status] of [[first.card, true, 404], [wanted.card, { action: "maybe" }, 422]]) {
    const body = JSON.stringify({ answers: { [id(card)]: reply } });
    const headers = { "content-type": "application/json" };
    const refused = await fetch(`${url}/threads/${client.thread()}/resume`, { method: "POST", headers, body });
    assert.equal(refused.status, status, await refused.text());
  }
  assert.equal(await head(), before);

  const ended = await step(
    () => client.answer(wanted.card, { action: "reject", text: no[1] }),
    [{ decision: { action: "abort", abort: { user_message: stops } } }, { says: stops }],
  );
  const refused = model.asked.at(-2).map((message) => message.content).join("\n");
  assert.ok(refused.includes(no[1]), refused);
  assert.deepEqual([ended.tools, ended.card], [[], undefined]);
  assert.ok(ended.said.includes(stops), ended.said);
  assert.deepEqual(await state(), { phase: "done", lies: [], kept: undefined });

  const talked = await step(() => client.ask(talk[0]), [{ decision: { intent: "chat" }, says: talk[1] }]);
  assert.deepEqual([talked.tools, talked.card], [[], undefined]);
  assert.ok(talked.said.includes(talk[1]), talked.said);
  assert.deepEqual((await state()).lies ?? [], []);
  client.close?.();
}

const model = await modelServer();
for (const lang of Object.keys(languages)) {
  for (const [name, open] of Object.entries(protocols)) {
    for (const course of [sequence, rejected]) {
      await serve(lang, model, (url, crash) => course(url, crash, model, open, lang)).catch((error) => {
        throw new Error(`${course.name}, ${name}, ${lang}`, { cause: error });
      });
    }
  }
  if (python) {
    await serve(lang, model, async (url) => {
      model.answers.push(...script(languages[lang], await free(url)).flat());
      await promisify(execFile)(python, ["sequence.py", url, languages[lang].text, languages[lang].says[2]]);
      assert.equal(model.answers.length, 0);
    });
  }
}
model.close();
