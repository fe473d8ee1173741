// The agent at work: its graph with the live nodes, the log, and the state at any position of it.
import { get, post } from './api.js';
import { differences } from './diff.js';
import { element, pretty, show } from './element.js';
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
    this.detail = element('section', { class: 'detail', 'aria-live': 'polite', tabindex: '0', role: 'region', 'data-label': 'state' }, word('choose'));
    this.node = null;
    this.query = element('input', { type: 'search', 'data-hint': 'search', 'data-label': 'search', oninput: () => this.filter() });
    this.only = element('button', { type: 'button', hidden: true, onclick: () => this.choose(null) });
    this.count = element('span', { role: 'status' });
    // What is clicked is shown beside the line, and never below the others.
    root.append(this.graph, element('div', { class: 'log' },
      element('div', { class: 'found' }, element('h2', { 'data-word': 'log' }), this.query, this.only, this.count),
      this.list, this.detail));
    this.list.addEventListener('keydown', (event) => this.step(event));
    get('graph').then((graph) => {
      this.picture = new Picture(read(graph.mermaid), (node) => this.choose(node));
      this.graph.replaceChildren(this.picture.element);
    }).catch(() => {});
  }

  live(nodes) {
    this.picture?.live(nodes);
  }

  async show(thread) {
    Object.assign(this, { thread, entries: [], next: 1, at: null, node: null });
    this.filter();
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
    const line = element('li', {}, button);
    this.list.append(line);
    Object.assign(entry, { line, button, words: `${button.textContent} ${JSON.stringify(entry.fact ?? '')}`.toLowerCase(), node: nodeOf(fact) });
    this.filter();
  }

  // Shows the lines that have these words, and are about this node of the picture.
  filter() {
    const words = this.query.value.trim().toLowerCase();
    const shown = this.entries.filter((it) => {
      const fits = (!words || it.words.includes(words)) && (!this.node || it.node === this.node);
      it.line.hidden = !fits;
      return fits;
    });
    this.count.textContent = shown.length === this.entries.length ? '' : word('shown', shown.length, this.entries.length);
    this.only.hidden = !this.node;
    show(this.only, this.node ? `${this.node} ×` : '');
    return shown;
  }

  // A node of the picture leads back in time, to where it last worked; once more, to the time before.
  choose(node) {
    const again = node !== null && node === this.node;
    this.node = node;
    this.picture?.choose(node);
    const shown = this.filter();
    if (node === null || !shown.length) return;
    const at = again ? shown.findIndex(({ button }) => button.getAttribute('aria-pressed') === 'true') : 0;
    const next = shown.at(at <= 0 ? -1 : at - 1);
    next.button.click();
    next.line.scrollIntoView({ block: 'nearest' });
  }

  // Arrows go from line to line.
  step(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    const shown = this.entries.filter(({ line }) => !line.hidden);
    const next = shown[shown.findIndex(({ button }) => button === document.activeElement) + by];
    if (!next) return;
    event.preventDefault();
    next.button.focus();
    next.button.click();
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
      element('h3', {}, word('changes')),
      after === null ? word('nothing') : table(differences(before, after)),
      element('details', { open: true }, element('summary', {}, word('fact')), element('pre', { tabindex: '0' }, pretty(entry.fact))),
      element('details', {}, element('summary', {}, word('state')), element('pre', { tabindex: '0' }, pretty(after))),
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

// The node that a line is about.
const nodeOf = (fact) => {
  const named = [fact?.task, fact?.origin?.node, fact?.node].find((it) => typeof it === 'string');
  return named?.split('#')[0].split('/').at(-1) ?? null;
};

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
