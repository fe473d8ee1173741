// The agent at work: its graph with the live nodes, the log, and the state at any position of it.
import { get, post } from './api.js';
import { differences } from './diff.js';
import { element, pretty } from './element.js';
import { Picture, read } from './graph.js';
import { lang, word } from './words.js';

const SHORT = 120;

export class Inspector {
  constructor(root, opened) {
    this.opened = opened;
    this.picture = null;
    this.entries = [];
    this.next = 1;
    this.at = null;
    this.graph = element('div', { class: 'picture' });
    this.list = element('ol', { class: 'entries' });
    this.detail = element('section', { 'aria-live': 'polite' }, word('choose'));
    root.append(this.graph, element('h2', {}, word('log')), this.list, this.detail);
    get('graph').then((graph) => {
      this.picture = new Picture(read(graph.mermaid));
      this.graph.replaceChildren(this.picture.element);
    }).catch(() => {});
  }

  live(nodes) {
    this.picture?.live(nodes);
  }

  async show(thread) {
    Object.assign(this, { thread, entries: [], next: 1, at: null });
    this.list.replaceChildren();
    this.detail.textContent = word('choose');
    if (thread) await this.more();
  }

  // Reads what the log has gained.
  async more() {
    const { thread } = this;
    if (!thread || this.reading) return;
    this.reading = true;
    try {
      for (let next = this.next; next !== null && thread === this.thread;) {
        const page = await get(`threads/${encodeURIComponent(thread)}/history?from=${next}&limit=200`);
        if (thread !== this.thread) return;
        for (const entry of page.entries) this.append(entry);
        next = page.next;
        this.next = (this.entries.at(-1)?.seq ?? 0) + 1;
      }
    } catch {
      // A thread that has nothing yet has no log; the next look finds it.
    } finally {
      this.reading = false;
    }
  }

  append(entry) {
    const previous = this.entries.findLast((it) => it.checkpoint);
    this.entries.push(entry);
    const [what, fact] = Object.entries(entry.fact ?? {})[0] ?? ['', {}];
    const when = entry.at ? new Date(entry.at).toLocaleTimeString(lang(), { hour12: false }) : '';
    const button = element('button', {
      type: 'button', 'aria-pressed': 'false',
      onclick: () => this.look(entry, previous, button),
    },
    element('span', { class: 'seq' }, String(entry.seq)), element('span', { class: 'when' }, when),
    element('span', {}, [what, entry.scope, fact?.task, fact?.key, fact?.name].filter((it) => typeof it === 'string' && it).join(' ')));
    this.list.append(element('li', {}, button));
  }

  async look(entry, previous, button) {
    for (const it of this.list.querySelectorAll('[aria-pressed=true]')) it.setAttribute('aria-pressed', 'false');
    button.setAttribute('aria-pressed', 'true');
    const state = (at) => get(`threads/${encodeURIComponent(this.thread)}/state?at=${at}`).then((it) => it.state);
    const [before, after] = await Promise.all([previous ? state(previous.seq).catch(() => ({})) : {}, state(entry.seq).catch(() => null)]);
    this.detail.replaceChildren(
      element('h2', {}, word('at', entry.seq)),
      ...asked(entry.fact).map(({ stage, attempts, usage, prompt, answer }) => element('details', { class: 'call' },
        element('summary', {}, [stage || word('model'), ...(attempts ?? []).map(chain), usage && `${usage.input} → ${usage.output}`].filter(Boolean).join(' · ')),
        ...[['prompt', prompt], ['answer', answer]].filter(([, text]) => text)
          .flatMap(([name, text]) => [element('h3', {}, word(name)), element('pre', { 'data-part': name }, text)]))),
      element('pre', {}, pretty(entry.fact)),
      element('h3', {}, word('changes')),
      after === null ? word('nothing') : table(differences(before, after)),
      element('details', {}, element('summary', {}, word('state')), element('pre', {}, pretty(after))),
    );
    if (entry.checkpoint) {
      this.detail.append(element('button', { type: 'button', onclick: () => this.fork(entry.seq) }, word('fork')));
    }
  }

  async fork(at) {
    const { thread } = await post(`threads/${encodeURIComponent(this.thread)}/fork`, { at });
    this.opened(thread);
  }
}

// The calls of models that a fact tells of.
const asked = (fact) => Object.values(fact ?? {}).flatMap((it) => it?.notes ?? []).filter((note) => note.name === 'model_call').map((note) => note.data);

const chain = ({ model, took, failure }) => `${model} ${Math.round((took?.secs ?? 0) * 1000 + (took?.nanos ?? 0) / 1e6)} ms${failure ? ` ${failure.kind}` : ''}`;

function table(changes) {
  if (!changes.length) return element('p', {}, word('nothing'));
  const short = (value) => {
    const text = value === undefined ? '' : JSON.stringify(value);
    return text.length > SHORT ? `${text.slice(0, SHORT)}…` : text;
  };
  return element('table', { class: 'changes' }, element('tbody', {}, changes.slice(0, 200).map(({ path, before, after }) =>
    element('tr', {}, element('td', {}, path), element('td', {}, element('del', {}, short(before)), ' ', element('ins', {}, short(after)))))));
}
