// From a request to its summary through each protocol, with a client of that protocol, in both languages.
// The server is killed after each answer, and another one goes on:
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

const [scheduler, python] = process.argv.slice(2);
const languages = {
  en: { text: "Arrange next week's revision", says: ["I look first.", "The first chapter fits here.", "All done."] },
  zh: { text: "帮我安排下周的复习", says: ["先看看。", "第一章放这里。", "都安排好了。"] },
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

// What the model says to each of the three requests.
function script({ says: [look, fits, done] }, { task, place }) {
  const call = (action, name, args) => ({ action, tool_call: { name, arguments: args } });
  const ends = (action) => ({ action, goal_check: "the result shows it" });
  const steps = ["Find a place for the first chapter", "Check that it has its place"];
  const plan_steps = steps.map((content) => ({ content, done_when: "the result shows it" }));
  return [
    [{ decision: { intent: "task" } }, { decision: { action: "plan_done", plan_steps } }],
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

// The three requests through one protocol, and what must hold after each.
async function sequence(url, crash, model, open, lang) {
  const { text, says } = languages[lang];
  const found = await free(url);
  const { task, slots } = found;
  const answers = script(languages[lang], found);
  const state = async () => {
    const read = await fetch(`${url}/threads/${client.thread()}/state`);
    const { state } = await read.json();
    const of = (schedule) => schedule?.tasks.find((it) => it.state_id === task);
    return { phase: state.phase, lies: of(state.schedule)?.slots, kept: of(state.stored) };
  };
  const client = await open(url);
  const step = async (act, n) => {
    model.answers.push(...answers[n]);
    const seen = await within(act(), "an answer");
    assert.equal(model.answers.length, 0, "the model was asked as often as expected");
    await crash();
    await client.reopen?.();
    return seen;
  };

  const planned = await step(() => client.ask(text), 0);
  assert.deepEqual(planned.tools, []);
  assert.equal(planned.card?.summary.split("\n").length, 2);
  assert.deepEqual(await state(), { phase: "interrupted", lies: undefined, kept: undefined });

  const wanted = await step(() => client.approve(planned.card), 1);
  assert.deepEqual(wanted.tools, ["get_overview", "find_free"]);
  assert.ok(wanted.said.includes(says[0]), wanted.said);
  assert.match(wanted.card?.summary, /“.+” goes to|《.+》安排到/);
  assert.deepEqual((await state()).lies, []);

  const before = model.asked.length;
  const done = await step(() => client.approve(wanted.card), 2);
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

const model = await modelServer();
for (const lang of Object.keys(languages)) {
  for (const [name, open] of Object.entries(protocols)) {
    await serve(lang, model, (url, crash) => sequence(url, crash, model, open, lang)).catch((error) => {
      throw new Error(`${name}, ${lang}`, { cause: error });
    });
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
