// Talking to the server.
import { lang } from './words.js';

const PAUSES = [250, 500, 1000, 2000, 5000];

let askKey = async () => null;
let asking = null;

// Whoever can ask the person for a key, when the server wants one.
export function keyFrom(ask) {
  askKey = ask;
}

export class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? `HTTP ${status}`);
    this.status = status;
    this.type = error?.type ?? 'unknown';
    this.more = error ?? {};
  }
}

export async function send(path, options = {}, again = true) {
  const key = sessionStorage.getItem('key');
  const headers = { 'accept-language': lang(), ...(options.body ? { 'content-type': 'application/json' } : {}), ...options.headers };
  if (key) headers.authorization = `Bearer ${key}`;
  const response = await fetch(path, { ...options, headers });
  if (response.status === 401 && again) {
    // Several requests may be turned away at once; the person is asked once.
    asking ??= Promise.resolve(askKey()).finally(() => { asking = null; });
    const key = await asking;
    if (key) {
      sessionStorage.setItem('key', key);
      return send(path, options, false);
    }
  }
  if (!response.ok) throw new Refused(response.status, (await response.json().catch(() => null))?.error);
  return response;
}

export const get = async (path) => (await send(path)).json();

export const post = async (path, body = {}, headers = {}) =>
  (await send(path, { method: 'POST', body: JSON.stringify(body), headers })).json();

// Asks for something that answers with all of its events as they come: nothing is missed between.
export const begin = (path, body, headers = {}) =>
  send(path, { method: 'POST', body: JSON.stringify(body), headers: { accept: 'text/event-stream', ...headers } });

export const put = async (path, body) => (await send(path, { method: 'PUT', body: JSON.stringify(body) })).json();

export const file = async (path) => (await send(path)).blob();

export const remove = (path) => send(path, { method: 'DELETE' });

// What was said, and led to no run: the text that the server answered; none if a run goes on.
export async function told(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const frames = new Frames();
  let output = null;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return output;
    for (const frame of frames.push(value).filter(({ data }) => data !== '[DONE]')) {
      const { ev } = JSON.parse(frame.data);
      if (ev.seq !== undefined) {
        reader.cancel().catch(() => {});
        return null;
      }
      if (ev.kind === 'run_finished' && typeof ev.output === 'string') output = ev.output;
    }
  }
}

// Cuts a stream of server-sent events into events.
export class Frames {
  #rest = '';

  push(text) {
    this.#rest += text;
    const frames = this.#rest.split('\n\n');
    this.#rest = frames.pop();
    return frames.flatMap((frame) => {
      const event = { id: null, data: [] };
      for (const line of frame.split('\n')) {
        if (line.startsWith('data:')) event.data.push(line.slice(5).replace(/^ /, ''));
        else if (line.startsWith('id:')) event.id = line.slice(3).trim();
      }
      return event.data.length ? [{ id: event.id, data: event.data.join('\n') }] : [];
    });
  }
}

// Follows a thread until `signal` says stop. A cut connection comes back from where it was. The first
// events may come in an answer that is there already.
export async function follow(thread, after, { signal, take, cut, back, first = null }) {
  let last = String(after);
  let begun = first;
  for (let tries = 0; !signal.aborted; tries += 1) {
    const here = begun;
    begun = null;
    try {
      const path = `threads/${encodeURIComponent(thread)}/events?after=${last}`;
      const response = here ?? await send(path, { signal, headers: { 'last-event-id': last } });
      back();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      signal.addEventListener('abort', () => reader.cancel().catch(() => {}), { once: true });
      const frames = new Frames();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        tries = 0;
        for (const frame of frames.push(value)) {
          // Whoever took the last one may want no more of what came with it.
          if (signal.aborted) return;
          if (frame.id) last = frame.id;
          if (frame.data !== '[DONE]') take(JSON.parse(frame.data).ev);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && error.status < 500 && error.status !== 429) throw error;
    }
    if (signal.aborted) return;
    // It ends with its run; the thread goes on.
    if (here) continue;
    cut();
    await new Promise((wake) => {
      const timer = setTimeout(wake, PAUSES[Math.min(tries, PAUSES.length - 1)]);
      signal.addEventListener('abort', () => { clearTimeout(timer); wake(); }, { once: true });
    });
  }
}
