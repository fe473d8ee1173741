// Drawing a conversation, block by block. A block that did not change is not touched.
import { element, pretty, show, shown } from './element.js';
import { steps } from './thread.js';
import { half, lang, word } from './words.js';

// What the agent does on its way to an answer is folded together, unless a person wants to see it.
const WORK = new Set(['status', 'tool', 'reasoning', 'note', 'correction']);
const isWork = (block) => WORK.has(block.kind) && block.name !== 'remembered' && block.code !== 'notification' && block.code !== 'interrupted';

export class Blocks {
  #root;
  #drawn = new Map();
  #open;

  // `open` says that work is shown unless the person folds it.
  constructor(root, open = false) {
    this.#root = root;
    this.#open = () => (localStorage.getItem('work') ?? (open ? 'open' : 'folded')) === 'open';
  }

  clear() {
    this.#drawn.clear();
    this.#root.replaceChildren();
  }

  // Puts what is drawn of a block behind what comes before it. Work that follows work is folded with it.
  #insert(thread, block, next) {
    const before = thread.blocks.slice(0, thread.blocks.lastIndexOf(block)).findLast(({ id }) => this.#drawn.has(id));
    const drawn = before && this.#drawn.get(before.id);
    const group = drawn?.closest('.work');
    if (!isWork(block)) {
      if (group) group.after(next);
      else if (drawn) drawn.after(next);
      else this.#root.prepend(next);
      return;
    }
    if (group) {
      drawn.after(next);
      return;
    }
    const work = element('details', {
      class: 'work', open: this.#open(),
      onclick: ({ target }) => target.closest('.work > summary') && localStorage.setItem('work', work.open ? 'folded' : 'open'),
    }, element('summary', {}, element('span', { class: 'how' }), element('span', { class: 'badge' })), next);
    if (drawn) drawn.after(work);
    else this.#root.prepend(work);
  }

  // A folded group says what is done now, or how much was done.
  #sum(thread) {
    const groups = new Map();
    for (const block of thread.blocks) {
      const group = this.#drawn.get(block.id)?.closest('.work');
      if (group) groups.set(group, block);
    }
    const last = thread.blocks.at(-1);
    for (const [group, block] of groups) {
      const count = group.childElementCount - 1;
      const steps = word('work', count);
      const failed = group.querySelector(':scope > .tool .badge[data-status=failed]');
      const now = thread.status === 'running' && block === last ? half(block.text ?? block.summary ?? (block.name ? named(block.name) : '')) : null;
      const text = now ? String(now).split('\n')[0] : steps;
      const [how, badge] = group.firstChild.children;
      if (how.textContent !== text) show(how, text);
      badge.dataset.status = failed ? 'failed' : '';
      badge.textContent = failed ? word('failed') : '';
    }
    for (const group of this.#root.querySelectorAll('.work')) if (group.childElementCount === 1) group.remove();
  }

  draw(thread) {
    const stay = this.#root.scrollHeight - this.#root.scrollTop - this.#root.clientHeight < 80;
    for (const id of thread.gone) {
      this.#drawn.get(id)?.remove();
      this.#drawn.delete(id);
    }
    thread.gone.clear();
    // However much has happened, only what changed since the last frame costs anything.
    for (const block of thread.changed) {
      const drawn = this.#drawn.get(block.id);
      const next = draw(block, drawn);
      if (!drawn) this.#insert(thread, block, next);
      else if (drawn !== next) drawn.replaceWith(next);
      this.#drawn.set(block.id, next);
    }
    thread.changed.clear();
    this.#sum(thread);
    if (stay) this.#root.scrollTop = this.#root.scrollHeight;
  }
}

// A tool by its name in words.
let words = {};
export const call = (by) => { words = by ?? {}; };
const known = (name) => words[lang()]?.[name];
export const named = (name) => known(name) ?? String(name).replaceAll('_', ' ');

function draw(block, before) {
  const drawn = (DRAW[block.kind] ?? DRAW.status)(block, before);
  drawn.classList.toggle('void', block.void === true);
  return drawn;
}

// The text that is there already stays, so that a selection in it survives.
function text(block, before) {
  const drawn = before ?? element('div', { class: `block ${block.kind}` }, '');
  const node = drawn.firstChild;
  const text = shown(drawn, block.kind === 'status' ? half(block.text) : block.text);
  if (text.startsWith(node.data)) node.appendData(text.slice(node.length));
  else node.data = text;
  return drawn;
}

// What a step of a plan is called.
const title = (step) => named(step.name || step.query || step.title || step.tool_name || '') || word(step.type ?? 'step');

// A line about something: the first of its fields that says something.
function brief(data) {
  if (typeof data === 'string') return data;
  if (data?.step) return title(data.step);
  if (Array.isArray(data?.results)) return String(data.results.length);
  const planned = steps(data);
  if (planned.length) return planned.map(title).join(' → ');
  const said = data?.query ?? data?.note ?? data?.cause ?? data?.thought ?? data?.why ?? (data?.outcome?.blocked ?? data?.outcome?.failed)?.why ?? '';
  return typeof said === 'string' ? said : '';
}

const DRAW = {
  user: text,
  text,
  status: text,
  error: text,
  correction: text,
  reasoning(block, before) {
    const drawn = before ?? element('details', { class: 'block reasoning', open: true },
      element('summary', {}, element('span', { class: 'how' })), element('div', {}, ''));
    const took = block.seconds === null || block.seconds === undefined ? '' : word('seconds', block.seconds);
    drawn.querySelector('.how').textContent = block.open ? word('thinking') : `${word('thought')} ${took}`;
    show(drawn.lastChild, block.text);
    // It folds when it is finished; whoever opens it again keeps it open.
    if (!block.open && !block.folded) {
      block.folded = true;
      drawn.open = false;
    }
    return drawn;
  },
  tool(block, before) {
    const drawn = before ?? element('details', { class: 'block tool' }, element('summary'), element('div'));
    drawn.firstChild.replaceChildren(
      element('span', { class: 'what', 'data-name': block.name }, named(block.name ?? '')),
      element('span', { class: 'how' }, block.summary ?? block.preview),
      element('span', { class: 'badge', 'data-status': block.status }, word(block.status)),
    );
    const parts = [['arguments', block.arguments], ['result', block.result]].filter(([, value]) => value !== undefined && value !== null);
    drawn.lastChild.replaceChildren(...parts.flatMap(([name, value]) => [element('h3', {}, word(name)), element('pre', {}, pretty(value))]));
    return drawn;
  },
  // Something that happened, with everything that is known of it.
  note(block, before) {
    const planned = steps(block.data);
    return before ?? element('details', { class: 'block note', 'data-name': block.name },
      element('summary', {}, element('span', { class: 'what' }, named(word(block.name))), element('span', { class: 'how' }, brief(block.data))),
      element('div', {}, planned.length ? element('ol', { class: 'planned' }, planned.map((step) => element('li', {}, title(step)))) : null,
        element('pre', {}, pretty(block.data))));
  },
  // A question that was settled, folded to a line.
  asked(block, before) {
    if (before) return before;
    return element('details', { class: 'block asked', 'data-asked': block.asked },
      element('summary', {}, element('span', { class: 'what' }, known(block.title) ?? block.title ?? word('asked')), element('span', { class: 'how' }, block.title === null ? block.text : ''),
        element('span', { class: 'badge', 'data-status': block.state }, word(block.state))),
      element('pre', {}, block.text));
  },
  card(block, before) {
    if (before) return before;
    // What is on it is fetched when it is looked at, and not before it is stored.
    const body = element('div');
    return element('details', {
      class: 'block card',
      ontoggle: ({ target }) => {
        if (target.open) target.dispatchEvent(new CustomEvent('card', { bubbles: true, detail: { block, body } }));
      },
    }, element('summary', {}, element('span', { class: 'what' }, word('card')), element('span', { class: 'how' }, named(word(block.card)))), body);
  },
};
