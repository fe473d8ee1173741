// A WebSocket client reads our envelopes, answers, and comes back.
import assert from "node:assert/strict";
import WebSocket from "ws";
import { base, SAID, THOUGHT, within } from "./said.mjs";

function connect(thread, full) {
  const socket = new WebSocket(`${base.replace("http", "ws")}/ws?thread=${thread}&full=${full}`);
  const seen = [];
  let wake = () => {};
  socket.on("message", (text) => {
    seen.push(JSON.parse(text));
    wake();
  });
  // Everything up to the first envelope for which `wanted` holds.
  async function until(wanted) {
    for (;;) {
      const found = seen.findIndex(wanted);
      if (found >= 0) return seen.splice(0, found + 1);
      await within(new Promise((resolve) => (wake = resolve)), "an envelope");
    }
  }
  const send = (event, data) => socket.send(JSON.stringify({ event, data }));
  const opened = within(new Promise((resolve) => socket.on("open", resolve)), "a connection");
  return { socket, send, until, opened };
}

const is = (event, code) => (it) => it.event === event && (!code || it.data.code === code);

for (const full of [false, true]) {
  const thread = `socket-${full}`;
  const one = connect(thread, full);
  await one.opened;
  one.send("ping", {});
  const [pong] = await one.until(is("ping"));
  assert.deepEqual(pong.data, {});
  one.send("user_input", { content: "plan my week" });
  const seen = await one.until(is("status", "parked"));
  for (const envelope of seen) {
    assert.match(envelope.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Math.abs(Date.parse(envelope.timestamp) - Date.now()) < 60_000);
    assert.equal(typeof envelope.data, "object");
  }
  const data = (event) => seen.filter(is(event)).map((envelope) => envelope.data);
  assert.deepEqual(data("thinking"), [{ content: THOUGHT }, { content: SAID }]);
  assert.deepEqual(data("planning"), [{ steps: ["look", "place"] }]);
  assert.deepEqual(data("tool_call").map((call) => [call.name, call.params]), [["find_free", { duration: 2 }]]);
  assert.deepEqual(data("tool_result").map((it) => [it.success, it.output]), [[true, { days: [2] }]]);
  assert.equal(seen.some((envelope) => envelope.ev), full);
  const [asked] = data("interrupt");
  assert.equal(asked.summary, "Algebra on day 2");
  const last = Math.max(...seen.map((envelope) => envelope.seq ?? 0));
  one.socket.terminate();

  // Another connection: it answers, and the run goes on.
  const two = connect(thread, full);
  await two.opened;
  two.send("answer", { id: asked.id, answer: true });
  const answered = await two.until(is("final_answer"));
  assert.equal(answered.at(-1).data.content, "placed");
  two.socket.terminate();

  // A third was away since the question, and misses nothing durable.
  const three = connect(thread, full);
  await three.opened;
  three.send("resume", { after: last });
  const missed = await three.until(is("final_answer"));
  const positions = missed.flatMap((envelope) => envelope.seq ?? []);
  assert.ok(positions.every((seq) => seq > last) && positions.length > 2);
  assert.equal(missed.at(-1).data.content, "placed");
  three.send("user_input", { content: "fail" });
  const failed = await three.until((it) => it.event === "error" && !it.data.recoverable && it.data.message.includes("think"));
  assert.match(failed.at(-1).data.message, /the model is not there/);
  three.socket.terminate();
}
