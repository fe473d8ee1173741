// The client of AG-UI reads our events, answers interrupts, and checks random streams.
import assert from "node:assert/strict";
import { buildResumeArray, HttpAgent, verifyEvents } from "@ag-ui/client";
import { base, RANDOM, SAID, THOUGHT, within } from "./said.mjs";

function agent(path, threadId) {
  return new HttpAgent({ url: `${base}${path}`, threadId });
}

async function run(agent, options, text) {
  if (text) agent.addMessage({ id: `m-${Math.random()}`, role: "user", content: text });
  const seen = { custom: [], steps: [], errors: [], outcomes: [] };
  await within(
    agent.runAgent(options, {
      onCustomEvent: ({ event }) => seen.custom.push(event.name),
      onStepStartedEvent: ({ event }) => seen.steps.push(event.stepName),
      onRunErrorEvent: ({ event }) => seen.errors.push(event.message),
      onRunFinishedEvent: ({ outcome, result }) => seen.outcomes.push([outcome, result]),
    }),
    "a run",
  );
  return seen;
}

for (const full of [false, true]) {
  const desk = agent(`/agui?full=${full}`, `agui-${full}`);
  const seen = await run(desk, {}, "plan two weeks");
  const of = (role) => desk.messages.filter((message) => message.role === role);
  assert.deepEqual(of("reasoning").map((message) => message.content), [THOUGHT]);
  const said = () => of("assistant").filter((message) => message.content);
  assert.deepEqual(said().map((message) => message.content), [SAID]);
  const calls = of("assistant").flatMap((message) => message.toolCalls ?? []);
  assert.deepEqual(
    calls.map((call) => [call.id, call.function.name, JSON.parse(call.function.arguments)]),
    [
      ["c1", "find_free", { duration: 2 }],
      ["c2", "place", { task: "Algebra", day: 2 }],
    ],
  );
  assert.deepEqual(of("tool").map((message) => JSON.parse(message.content)), [{ days: [2] }]);
  assert.equal(of("activity").length, 1);
  assert.deepEqual(seen.steps, ["think#1", "ask#1"]);
  assert.ok(seen.custom.includes("fugato.status") && seen.custom.includes("fugato.card"));
  assert.deepEqual(seen.outcomes, [["interrupt", undefined]]);
  const [approve, ask] = desk.pendingInterrupts;
  assert.deepEqual(
    [approve.reason, approve.message, approve.toolCallId, approve.expiresAt],
    ["confirm", "Algebra on day 2", "c2", "2100-01-01T00:00:00.000Z"],
  );
  assert.deepEqual(approve.responseSchema.type, "boolean");
  assert.deepEqual([ask.reason, ask.message], ["ask_user", "Which week?"]);

  // A run that does not answer all of them is refused by the client itself.
  await assert.rejects(run(desk, {}), /pending interrupt/);
  const resume = buildResumeArray(desk.pendingInterrupts, {
    [approve.id]: { status: "resolved", payload: true },
    [ask.id]: { status: "resolved", payload: "W3" },
  });
  const resumed = await run(desk, { resume });
  assert.deepEqual(resumed.outcomes, [["success", "placed"]]);
  assert.deepEqual(desk.pendingInterrupts, []);
  assert.equal(of("tool").at(-1).content, "placed in week W3");
  assert.deepEqual(said().map((message) => message.content), [SAID, "Done, 好的."]);

  const rejecting = agent(`/agui?full=${full}`, `agui-rejecting-${full}`);
  await run(rejecting, {}, "plan my week");
  const [only] = rejecting.pendingInterrupts;
  const cancel = buildResumeArray([only], { [only.id]: { status: "cancelled" } });
  const left = await run(rejecting, { resume: cancel });
  assert.deepEqual(left.outcomes, [["success", "left"]]);
  assert.ok(left.custom.includes("fugato.tool_not_done"));

  const failing = agent(`/agui?full=${full}`, `agui-failing-${full}`);
  const failed = await run(failing, {}, "fail").catch((error) => ({ errors: [error.message] }));
  assert.match(failed.errors[0], /the model is not there/);
}

// Whatever happens in whatever order, the client's own verifier has nothing to say.
for (const full of [false, true]) {
  for (let seed = 0; seed < RANDOM; seed += 1) {
    const random = agent(`/random/agui/${seed}?full=${full}`, "random");
    const input = { threadId: "t", runId: "r", messages: [], tools: [], context: [], state: {} };
    const events = random.run(input).pipe(verifyEvents());
    const read = new Promise((resolve, reject) => {
      events.subscribe({ error: reject, complete: resolve });
    });
    await within(read, "a random stream").catch((error) => {
      throw new Error(`seed ${seed}, full ${full}`, { cause: error });
    });
  }
}
