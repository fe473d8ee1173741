// Drawing a conversation, block by block. A block that did not change is not touched.
import { element, pretty, show, shown } from './element.js';
import { steps } from './thread.js';
import { word } from './words.js';

export class Blocks {
  #root;
  #drawn = new Map();

  constructor(root) {
    this.#root = root;
  }

  clear() {
    this.#drawn.clear();
    this.#root.replaceChildren();
  }

  // What is drawn already of what comes after a block; nothing if it is the last.
  #behind(thread, block) {
    const rest = thread.blocks.slice(thread.blocks.lastIndexOf(block) + 1);
    return rest.map(({ id }) => this.#drawn.get(id)).find(Boolean) ?? null;
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
      if (!drawn) this.#root.insertBefore(next, this.#behind(thread, block));
      else if (drawn !== next) drawn.replaceWith(next);
      this.#drawn.set(block.id, next);
    }
    thread.changed.clear();
    if (stay) this.#root.scrollTop = this.#root.scrollHeight;
  }
}

function draw(block, before) {
  const drawn = (DRAW[block.kind] ?? DRAW.status)(block, before);
  drawn.classList.toggle('void', block.void === true);
  return drawn;
}

// The text that is there already stays, so that a selection in it survives.
function text(block, before) {
  const drawn = before ?? element('div', { class: `block ${block.kind}` }, '');
  const node = drawn.firstChild;
  const text = shown(drawn, block.text);
  if (text.startsWith(node.data)) node.appendData(text.slice(node.length));
  else node.data = text;
  return drawn;
}

// What a step of a plan is called.
const title = (step) => step.name || step.query || step.title || step.tool_name || word(step.type ?? 'step');

// A line about something: the first of its fields that says something.
function brief(data) {
  if (typeof data === 'string') return data;
  if (data?.step) return title(data.step);
  if (Array.isArray(data?.results)) return String(data.results.length);
  const planned = steps(data);
  if (planned.length) return planned.map(title).join(' → ');
  const said = data?.query ?? data?.note ?? data?.cause ?? data?.thought ?? data?.intent ?? data?.why ?? (data?.outcome?.blocked ?? data?.outcome?.failed)?.why ?? '';
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
      element('span', { class: 'what' }, block.name),
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
      element('summary', {}, element('span', { class: 'what' }, word(block.name)), element('span', { class: 'how' }, brief(block.data))),
      element('div', {}, planned.length ? element('ol', { class: 'planned' }, planned.map((step) => element('li', {}, title(step)))) : null,
        element('pre', {}, pretty(block.data))));
  },
  // A question that was settled, folded to a line.
  asked(block, before) {
    if (before) return before;
    return element('details', { class: 'block asked', 'data-asked': block.asked },
      element('summary', {}, element('span', { class: 'what' }, block.title ?? word('asked')), element('span', { class: 'how' }, block.title === null ? block.text : ''),
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
    }, element('summary', {}, element('span', { class: 'what' }, word('card')), element('span', { class: 'how' }, word(block.card))), body);
  },
};
