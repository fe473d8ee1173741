// A conversation in each protocol, with the client that people use for it. What comes of a request
// is reduced to the tools that ran, the text, and the card that is open: { tools, said, card }.
import { buildResumeArray, HttpAgent } from "@ag-ui/client";
import { EventSource } from "eventsource";
import OpenAI from "openai";
import WebSocket from "ws";
import { Chat } from "./chat.mjs";

const post = (url, body) =>
  fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
const named = () => `t-${Math.random().toString(36).slice(2)}`;

async function openai(url) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
  const thread = named();
  const talk = async (content, ext) => {
    const messages = [{ role: "user", content }];
    const body = { model: "scheduler", messages, ext: { ...ext, conversation_id: thread } };
    const stream = client.chat.completions.stream(body);
    const seen = { tools: [], card: undefined };
    stream.on("chunk", ({ ext = {} }) => {
      if (ext.kind === "tool_result") seen.tools.push(ext.tool.name);
      if (ext.kind === "confirm_request") seen.card = ext.confirm;
    });
    const completion = await stream.finalChatCompletion();
    return { ...seen, said: completion.choices[0].message.content };
  };
  return {
    thread: () => thread,
    ask: (text) => talk(text),
    approve: ({ interaction_id }) => talk("", { resume: { interaction_id, type: "confirm", action: "approve" } }),
  };
}

async function agui(url) {
  const agent = new HttpAgent({ url: `${url}/agui`, threadId: named() });
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
      agent.addMessage({ id: named(), role: "user", content });
      return run({});
    },
    approve: ({ id }) => run({
      resume: buildResumeArray(agent.pendingInterrupts, { [id]: { status: "resolved", payload: true } }),
    }),
  };
}

async function ai(url) {
  const chat = new Chat(named(), `${url}/api/chat`);
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
    approve: ({ id }) => send(undefined, { body: { answers: { [id]: true } } }),
  };
}

async function events(url) {
  const thread = named();
  const answered = new Set();
  let after = 0;
  const read = async (path, body) => {
    await post(`${url}/threads/${thread}/${path}`, body);
    const source = new EventSource(`${url}/sse/react?thread=${thread}&after=${after}`);
    const seen = { tools: [], said: "" };
    const on = (name, take) =>
      source.addEventListener(name, ({ data, lastEventId }) => {
        after = Number(lastEventId) || after;
        take(JSON.parse(data));
      });
    on("llm_token", ({ token = "" }) => (seen.said += token));
    on("tool_end", ({ tool }) => seen.tools.push(tool));
    // What happened at the last position is told again.
    on("interrupt", ({ id, prompt }) => answered.has(id) || (seen.card = { id, ...prompt }));
    await new Promise((resolve) => ["run_parked", "run_finished", "run_failed"].forEach((end) => on(end, resolve)));
    source.close();
    return seen;
  };
  return {
    thread: () => thread,
    ask: (text) => read("runs", { text }),
    approve: ({ id }) => {
      answered.add(id);
      return read("resume", { answers: { [id]: true } });
    },
  };
}

async function socket(url) {
  const thread = named();
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
    approve: ({ id }) => read("answer", { id, answer: true }),
    close: () => ws.terminate(),
  };
}

export const protocols = { openai, agui, ai, events, socket };
