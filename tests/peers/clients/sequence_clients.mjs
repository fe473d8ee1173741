// A conversation in each protocol, with the client that people use for it. What comes of a request
// is reduced to the tools that ran, the text, and the card that is open: { tools, said, card }. A card
// is answered with true, with { action, text }, or, where it is a question, with { text }.
import { buildResumeArray, HttpAgent } from "@ag-ui/client";
import { EventSource } from "eventsource";
import OpenAI from "openai";
import WebSocket from "ws";
import { Chat } from "./chat.mjs";

const post = (url, body) =>
  fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
const fresh = () => `t-${Math.random().toString(36).slice(2)}`;

async function openai(url) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
  const thread = fresh();
  const talk = async (content, ext) => {
    const messages = [{ role: "user", content }];
    const body = { model: "scheduler", messages, ext: { ...ext, conversation_id: thread } };
    const stream = client.chat.completions.stream(body);
    const seen = { tools: [], card: undefined };
    stream.on("chunk", ({ ext = {} }) => {
      if (ext.kind === "tool_result") seen.tools.push(ext.tool.name);
      if (ext.kind === "confirm_request") seen.card = ext.confirm;
      if (ext.kind === "interrupt") seen.card = ext.interrupt;
    });
    const completion = await stream.finalChatCompletion();
    return { ...seen, said: completion.choices[0].message.content };
  };
  return {
    thread: () => thread,
    ask: (text) => talk(text),
    answer: ({ interaction_id }, { action, text = "" }) => {
      const type = action ? "confirm" : "ask_user";
      return talk(text, { resume: { interaction_id, type, action } });
    },
  };
}

async function agui(url) {
  const agent = new HttpAgent({ url: `${url}/agui`, threadId: fresh() });
  const run = async (parameters) => {
    const seen = { tools: [], said: "" };
    await agent.runAgent(parameters, {
      onTextMessageContentEvent: ({ event }) => (seen.said += event.delta),
      onToolCallStartEvent: ({ event }) => seen.tools.push(event.toolCallName),
    });
    const [open] = agent.pendingInterrupts;
    return { ...seen, card: open && { id: open.id, summary: open.message } };
  };
  return {
    thread: () => agent.threadId,
    ask: (content) => {
      agent.addMessage({ id: fresh(), role: "user", content });
      return run({});
    },
    answer: ({ id }, payload) => run({
      resume: buildResumeArray(agent.pendingInterrupts, { [id]: { status: "resolved", payload } }),
    }),
  };
}

async function ai(url) {
  const chat = new Chat(fresh(), `${url}/api/chat`);
  const parts = () => chat.messages.filter(({ role }) => role === "assistant").flatMap(({ parts }) => parts);
  const send = async (message, options) => {
    const before = parts().length;
    await chat.sendMessage(message, options);
    const seen = parts().slice(before);
    const of = (type, field) => seen.filter((part) => part.type === type).map((part) => part[field]);
    const [card] = of("data-interrupt", "data");
    return { tools: of("dynamic-tool", "toolName"), said: of("text", "text").join(""), card };
  };
  return {
    thread: () => chat.id,
    ask: (text) => send({ text }),
    answer: ({ id }, value) => send(undefined, { body: { answers: { [id]: value } } }),
  };
}

// Its requests answer at once; what happens is read elsewhere, in a stream of its own.
async function events(url, stream) {
  const thread = fresh();
  const answered = new Set();
  let after = 0;
  const read = async (path, body) => {
    await post(`${url}/threads/${thread}/${path}`, body);
    const source = new EventSource(`${url}${stream(thread)}after=${after}`);
    const seen = { tools: [], said: "" };
    const before = after;
    const on = (name, take) =>
      source.addEventListener(name, ({ data, lastEventId }) => {
        after = Number(lastEventId) || after;
        take(JSON.parse(data), after);
      });
    on("llm_token", ({ token = "" }) => (seen.said += token));
    on("tool_end", ({ tool }) => seen.tools.push(tool));
    // What happened at the last position is told again.
    on("interrupt", ({ id, prompt }) => answered.has(id) || (seen.card = { id, ...prompt }));
    const ends = ["run_parked", "run_finished", "run_failed"];
    await new Promise((resolve) => ends.forEach((end) => on(end, (_, at) => at > before && resolve())));
    source.close();
    return seen;
  };
  return {
    thread: () => thread,
    ask: (text) => read("runs", { text }),
    answer: ({ id }, value) => {
      answered.add(id);
      return read("resume", { answers: { [id]: value } });
    },
  };
}

async function socket(url) {
  const thread = fresh();
  let ws;
  const reopen = async () => {
    ws?.terminate();
    ws = new WebSocket(`${url.replace("http", "ws")}/ws/chat?thread=${thread}`);
    await new Promise((resolve) => ws.on("open", resolve));
  };
  await reopen();
  const read = (event, data) => new Promise((resolve) => {
    const seen = { tools: [], said: "" };
    const take = (text) => {
      const { event, data } = JSON.parse(text);
      if (event === "thinking" || event === "final_answer") seen.said += data.content;
      if (event === "tool_result") seen.tools.push(data.name);
      if (event === "interrupt") seen.card = data;
      if (event === "final_answer" || (event === "status" && data.code === "parked")) {
        ws.off("message", take);
        resolve(seen);
      }
    };
    ws.on("message", take);
    ws.send(JSON.stringify({ event, data }));
  });
  return {
    thread: () => thread,
    reopen,
    ask: (content) => read("user_input", { content }),
    answer: ({ id }, answer) => read("answer", { id, answer }),
    close: () => ws.terminate(),
  };
}

const named = (url) => events(url, (thread) => `/sse/react?thread=${thread}&`);
const native = (url) => events(url, (thread) => `/threads/${thread}/events?`);

export const protocols = { openai, agui, ai, named, native, socket };
