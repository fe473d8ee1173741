// The AI SDK reads our UI message streams: approvals, other questions, coming back, random streams.
import assert from "node:assert/strict";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  readUIMessageStream,
} from "ai";
import { Chat } from "./chat.mjs";
import { base, RANDOM, SAID, THOUGHT, within } from "./said.mjs";

// A chat whose answers are sent as soon as all approvals have one.
function approving(id, full) {
  const data = [];
  const chat = new Chat(id, `${base}/ai${full ? "?full=true" : ""}`, {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onData: (part) => data.push(part),
    onToolCall: () => assert.fail("tools of the server are not the client's"),
    onError: (error) => {
      chat.failed = error;
    },
  });
  return { chat, data };
}

for (const full of [false, true]) {
  const { chat, data } = approving(`ai-${full}`, full);
  await within(chat.sendMessage({ text: "plan two weeks" }), "a message");
  assert.equal(chat.failed, undefined);
  assert.deepEqual(chat.of("text", "text"), [SAID]);
  assert.deepEqual(chat.of("reasoning", "text"), [THOUGHT]);
  const [find, place] = chat.parts.filter((part) => part.type === "dynamic-tool");
  assert.deepEqual([find.state, find.input, find.output], ["output-available", { duration: 2 }, { days: [2] }]);
  assert.equal(place.state, "approval-requested");
  const [week] = chat.of("data-interrupt", "data");
  assert.equal(week.summary, "Which week?");
  assert.equal(chat.messages.at(-1).metadata.usage.total_tokens, 12);
  assert.ok(data.some((part) => part.type === "data-status"));
  assert.equal(data.some((part) => part.type === "data-ev"), full);
  const message = chat.messages.at(-1).id;

  const options = { body: { answers: { [week.id]: "W3" } } };
  const answer = { id: place.approval.id, approved: true, options };
  await within(chat.addToolApprovalResponse(answer), "an approval");
  while (chat.status !== "ready") await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(chat.failed, undefined);
  assert.equal(chat.messages.length, 2);
  assert.equal(chat.messages.at(-1).id, message);
  assert.deepEqual(chat.of("text", "text"), [SAID, "Done, 好的."]);
  const done = chat.parts.filter((part) => part.toolCallId === "c2" && part.type === "dynamic-tool");
  assert.deepEqual(done.map((part) => [part.state, part.output]), [["output-available", "placed in week W3"]]);

  const { chat: rejecting } = approving(`ai-rejecting-${full}`, full);
  await within(rejecting.sendMessage({ text: "plan my week" }), "a message");
  const { approval } = rejecting.parts.find((part) => part.toolCallId === "c2");
  await within(rejecting.addToolApprovalResponse({ id: approval.id, approved: false }), "a rejection");
  while (rejecting.status !== "ready") await new Promise((resolve) => setTimeout(resolve, 5));
  const refused = rejecting.parts.find((part) => part.type === "dynamic-tool" && part.toolCallId === "c2");
  assert.deepEqual([refused.state, refused.errorText], ["output-error", "you did not want it"]);

  const { chat: failing } = approving(`ai-failing-${full}`, full);
  await within(failing.sendMessage({ text: "fail" }), "a failure");
  assert.match(failing.failed.message, /the model is not there/);
}

// A page that is loaded again in the middle of a run gets the run from its beginning.
const first = new Chat("ai-slow", `${base}/ai`);
const sent = first.sendMessage({ text: "talk slow" });
while (!first.messages.at(-1)?.parts?.some((part) => part.text === "Let me look: ")) {
  await new Promise((resolve) => setTimeout(resolve, 5));
}
await first.stop();
await within(sent, "a stop");
const second = new Chat("ai-slow", `${base}/ai`);
second.messages = [{ id: "u", role: "user", parts: [{ type: "text", text: "talk slow" }] }];
const resumed = second.resumeStream();
while (second.messages.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
await fetch(`${base}/go`, { method: "POST" });
await within(resumed, "a run that is resumed");
assert.deepEqual(second.of("text", "text"), [SAID]);
const none = new Chat("ai-none", `${base}/ai`);
await within(none.resumeStream(), "nothing to resume");
assert.deepEqual(none.messages, []);

// Whatever happens in whatever order, the SDK can read it.
for (const full of [false, true]) {
  for (let seed = 0; seed < RANDOM; seed += 1) {
    const transport = new DefaultChatTransport({ api: `${base}/random/ai/${seed}?full=${full}` });
    const stream = await transport.sendMessages({ chatId: "r", messages: [], trigger: "submit-message" });
    const reading = async () => {
      const onError = (error) => {
        if (error?.name === "AI_UIMessageStreamError" || error?.name === "AI_TypeValidationError") throw error;
      };
      for await (const message of readUIMessageStream({ stream, onError, terminateOnError: false })) {
        assert.equal(message.role, "assistant");
      }
    };
    await within(reading(), "a random stream").catch((error) => {
      throw new Error(`seed ${seed}, full ${full}`, { cause: error });
    });
  }
}
