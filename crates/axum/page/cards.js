// Open questions, each a card that is answered once.
import { argumentLines, argumentsOf, clipped, code, counted, names, parts } from './card.js';
import { element, show } from './element.js';
import { named } from './blocks.js';
import { spoken } from './thread.js';
import { lang, word } from './words.js';

export class Cards {
  #root;
  #answer;
  #thread;
  #detail;

  // `answer(question, value)` sends an answer, and fails if it is refused. `detail(question, text)`
  // is what the agent itself shows in the place of the text; none if it shows nothing.
  constructor(root, answer, detail = async () => null) {
    this.#root = root;
    this.#answer = answer;
    this.#detail = detail;
  }

  clear() {
    this.#root.replaceChildren();
  }

  draw(thread) {
    this.#thread = thread;
    const { questions } = thread;
    const shown = new Set([...questions.keys()]);
    for (const card of [...this.#root.children]) if (!shown.has(card.dataset.id)) card.remove();
    for (const [id, asked] of questions) {
      const there = [...this.#root.children].find((card) => card.dataset.id === id);
      if (!there) {
        this.#root.append(this.#card(asked));
        // A card that a person has just been given takes the keyboard, unless they are writing.
        if (document.activeElement === document.body) this.#root.lastChild.querySelector('button.first, textarea')?.focus();
      }
    }
  }

  #card(asked) {
    const { prompt } = asked;
    const wrong = element('p', { class: 'wrong', role: 'alert' });
    const body = element('div');
    const send = async (value) => {
      for (const it of card.querySelectorAll('button, textarea')) it.disabled = true;
      try {
        await this.#answer(asked, value);
      } catch (error) {
        show(wrong, error.message);
        for (const it of card.querySelectorAll('button, textarea')) it.disabled = false;
      }
    };
    const fold = element('button', {
      type: 'button',
      onclick: () => {
        const folded = this.#thread.fold(asked.id);
        body.hidden = folded;
        mark(folded);
      },
    });
    // What is asked and its buttons stay, however much is folded.
    const mark = (folded) => {
      fold.textContent = word(folded ? 'unfold' : 'fold');
      fold.setAttribute('aria-expanded', String(!folded));
    };
    mark(false);
    const title = `question-${asked.id}`;
    const card = element('article', { class: 'question', 'data-id': asked.id, 'aria-labelledby': title },
      element('header', {}, element('h2', { id: title }, heading(asked)), fold), body, form(asked, send), wrong);
    body.append(...told(prompt));
    const said = body.querySelector('.said') ?? body.querySelector('.arguments');
    const place = said && element('div', { class: 'own' });
    if (said) {
      said.before(place);
      Promise.resolve(this.#detail(asked, said.cloneNode(true))).then((own) => {
        if (!own) return;
        place.append(own);
        said.remove();
      }).catch(() => {});
    }
    fold.hidden = !body.children.length;
    if (this.#thread.folded.has(asked.id)) {
      body.hidden = true;
      mark(true);
    }
    return card;
  }
}

// What the agent calls the arguments of its tools, and which of them the consequence of a call says.
let known = { fields: {}, implied: [] };
export const describe = ({ fields = {}, implied = [] }) => { known = { fields, implied }; };

// An approval has a code, by which it can be named in words.
function heading({ id, digest, prompt }) {
  const own = prompt.title === prompt.call?.name ? named(prompt.title ?? '') : prompt.title;
  const title = clipped(String(own || word('question')));
  return digest ? `[${code(id)}] ${title}` : title;
}

// A text with its beginning and its end; what is between can be unfolded.
function whole(text) {
  const { head, middle, tail } = parts(text);
  if (!middle) return [element('pre', {}, head)];
  return [element('pre', {}, head),
    element('details', { class: 'fold' }, element('summary', {}, word('folded', ...counted(middle))), element('pre', {}, middle)),
    element('pre', {}, tail)];
}

// Everything that is agreed to, each value in a box of its own.
function told(prompt) {
  const given = argumentsOf(prompt);
  const said = spoken(prompt);
  const list = (some) => element('dl', { class: 'arguments', tabindex: '0' }, some.map(([name, text]) => [element('dt', {}, clipped(known.fields[lang()]?.[name] ?? prompt.names?.[name] ?? name)), element('dd', {}, whole(text))]).flat());
  const folded = (some, open = false) => element('details', { open }, element('summary', {}, word('arguments')), list(some));
  // What the consequence says in words is there as it was written, too.
  const implied = prompt.consequence ? given.filter(([name]) => known.implied.includes(name)) : [];
  const boxes = [list(given.filter((it) => !implied.includes(it))), implied.length ? folded(implied) : null].filter(Boolean);
  const own = said !== '' && said !== argumentLines(argumentsOf(prompt, {}));
  return [
    prompt.consequence ? element('p', { class: 'consequence' }, prompt.consequence) : null,
    own ? element('div', { class: 'said', tabindex: '0', role: 'region', 'aria-label': word('question') }, whole(said)) : null,
    ...(given.length === 0 ? [] : own ? [folded(given, !names(said, given))] : boxes),
    prompt.says ? element('div', { class: 'says' }, element('h3', {}, word('says')), whole(prompt.says)) : null,
  ].filter(Boolean);
}

const press = (name, value, first, send) =>
  element('button', { type: 'button', class: first ? 'first' : '', onclick: () => send(value) }, name);

// The actions that an answer may name.
function actions(schema) {
  const it = schema.properties.action;
  const at = it.$ref?.startsWith('#/') ? it.$ref.slice(2).split('/').reduce((inner, name) => inner?.[name], schema) : it;
  return at?.enum ?? at?.oneOf?.map((one) => one.const) ?? [];
}

// How words answer a question; none if it is answered by a choice, or by an agreement.
export function wordsOf(asked) {
  const schema = asked.schema ?? {};
  if (Array.isArray(asked.prompt.options ?? schema.enum) || schema.type === 'boolean') return null;
  if (schema.properties?.action !== undefined && asked.prompt.type === 'confirm') {
    // Words that the agent reads itself go to it with the card that they are about.
    return actions(schema).includes('say') ? (text) => ({ action: 'say', text }) : null;
  }
  return (text) => (schema.type === 'object' ? { text } : schema.type === 'string' ? text : parsed(text));
}

// What typing does while a question waits, as the name of a word.
export const hint = (asked) => (wordsOf(asked) && asked.prompt.type !== 'confirm' ? 'hint_answer' : Array.isArray(asked.prompt.options ?? asked.schema?.enum) ? 'hint_choice' : 'hint_card');

// How a question is answered follows from its schema, and from what its prompt says it is.
function form(asked, send) {
  const schema = asked.schema ?? {};
  const options = asked.prompt.options ?? schema.enum;
  if (Array.isArray(options)) {
    const value = (option) => (typeof option === 'object' && option !== null ? option.value ?? option.id ?? option.label : option);
    const name = (option) => String(typeof option === 'object' && option !== null ? option.label ?? option.title ?? value(option) : option);
    return element('div', { class: 'choices' }, options.map((option, nth) => press(name(option), value(option), nth === 0, send)));
  }
  if (schema.type === 'boolean') {
    return element('div', { class: 'choices' }, press(word('accept'), true, true, send), press(word('reject'), false, false, send));
  }
  const value = asked.prompt.type === 'confirm' && schema.properties?.action ? null : wordsOf(asked);
  return value ? words(value, word('answer'), send) : confirm(send);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function confirm(send) {
  const choices = element('div', { class: 'choices' },
    press(word('accept'), { action: 'approve' }, true, send),
    press(word('reject'), { action: 'reject' }, false, send),
    element('button', { type: 'button', onclick: () => {
      const because = words((text) => ({ action: 'reject', text }), word('reject'), send, () => because.replaceWith(choices));
      choices.replaceWith(because);
      because.querySelector('textarea').focus();
    } }, word('because')));
  return choices;
}

function words(value, name, send, back) {
  const text = element('textarea', { rows: '2', 'aria-label': back ? word('reason') : name, placeholder: back ? word('reason') : '' });
  const say = () => text.value.trim() && send(value(text.value.trim()));
  text.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      say();
    }
  });
  return element('div', {}, text, element('div', { class: 'choices' },
    element('button', { type: 'button', class: 'first', onclick: say }, name),
    back ? element('button', { type: 'button', onclick: back }, word('back')) : null));
}
