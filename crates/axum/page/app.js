// The page: conversations on the left, the talk in the middle, the agent's panels and its work on
// the right.
import agent from './agent.js';
import { begin, file, follow as events, get, keyFrom, post, put, remove, told } from './api.js';
import { Blocks, call, named } from './blocks.js';
import { Cards, describe, hint, wordsOf } from './cards.js';
import { element, show } from './element.js';
import { Inspector } from './inspector.js';
import { Thread } from './thread.js';
import tools from './tools.js';
import { choose, follow, label, lang, languageOf, word } from './words.js';

const $ = (id) => document.getElementById(id);
const blocks = new Blocks($('blocks'), agent.work === 'open');
call(tools);
describe(agent);
const cards = new Cards($('cards'), answer, async (asked, text) => {
  for (const panel of panels) if (panel.question) return panel.question(asked, text);
  return null;
});
let [name, thread, reading, mine] = [null, new Thread(), null, false];
let drawing = false;
// A conversation that has just begun is there for others once its first step is stored.
let fresh = false;

// Drawing waits for the next frame, so that a stream of tokens costs one drawing a frame.
function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    const list = $('blocks');
    const end = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    blocks.draw(thread);
    cards.draw(thread);
    // A card that comes takes room; the last words stay in sight.
    if (end) list.scrollTop = list.scrollHeight;
    const running = thread.status === 'running';
    const own = agent.title?.[lang()] ?? agent.title?.en ?? agent.title ?? '';
    // A conversation is called by what was said first in it.
    const title = thread.title ?? thread.blocks.find(({ kind }) => kind === 'user')?.text ?? (name ? word('untitled') : own || word('untitled'));
    show($('title'), title);
    document.title = [name ? title : '', own].filter(Boolean).join(' · ') || word('untitled');
    const [asked] = thread.questions.values();
    $('say').placeholder = word(running ? 'hint_running' : asked ? hint(asked) : 'hint');
    $('send').title = running ? word('hint_running') : '';
    if (!running) $('why').textContent = '';
    $('say').setAttribute('aria-label', word('message'));
    $('state').textContent = reading?.cut ? word('cut') : word(thread.status === 'failed' ? 'failed_thread' : thread.status);
    $('send').disabled = running;
    $('stop').hidden = !running;
    $('typing').hidden = !running;
    again(thread.status);
    begins();
    inspector.live(thread.live.values());
  });
}

// What was left or failed can go on.
function again(status) {
  const how = { unfinished: 'recover', failed: 'retry' }[status];
  const there = $('again');
  if (!how) there?.remove();
  else if (there?.dataset.how !== how) {
    there?.remove();
    $('state').after(element('button', { id: 'again', type: 'button', 'data-how': how, onclick: () => act(how) }, word(how)));
  }
}

// An empty page says what the agent is for, with examples to press.
const start = element('section', { id: 'start' });
$('blocks').before(start);

function begins() {
  const shown = name || thread.blocks.length ? null : agent.start?.[lang()] ?? agent.start?.en;
  start.hidden = !shown;
  $('blocks').hidden = Boolean(shown);
  if (!shown || start.dataset.lang === lang()) return;
  start.dataset.lang = lang();
  const press = (text) => element('button', { type: 'button', onclick: () => say(text) }, text);
  const title = agent.title?.[lang()] ?? agent.title?.en ?? agent.title;
  start.replaceChildren(...[title && element('h2', {}, title), element('p', {}, shown.text), element('div', {}, shown.examples.map(press))].filter(Boolean), waits);
}

// What waits for an answer in other conversations: in the beginning, and beside another one.
const waits = element('section', { id: 'waits', hidden: true });
const elsewhere = element('section', { id: 'elsewhere', role: 'status', hidden: true });
$('cards').before(elsewhere);
const dismissed = new Set();

function waiting(threads) {
  const all = threads.filter((it) => it.status === 'waiting' && it.thread !== name);
  const go = (it) => element('button', { type: 'button', onclick: () => open(it.thread) }, it.title ?? word('untitled'));
  const some = all.slice(0, 5).map(go);
  waits.hidden = !some.length;
  waits.replaceChildren(element('h3', {}, word('waits')), ...some);
  const is = (it) => `${it.thread}@${it.head}`;
  const news = all.filter((it) => !dismissed.has(is(it)));
  elsewhere.hidden = !name || !news.length;
  elsewhere.replaceChildren(element('span', {}, `${word('waits')}:`), ...news.slice(0, 3).map(go),
    element('button', { type: 'button', class: 'remove', onclick: () => { for (const it of news) dismissed.add(is(it)); elsewhere.hidden = true; } }, word('dismiss')));
}

const path = () => `threads/${encodeURIComponent(name)}`;

async function act(how, body = {}) {
  try {
    await post(`${path()}/${how}`, body);
  } catch (error) {
    complain(error);
  }
}

function complain(error) {
  thread.add({ kind: 'error', text: error.message });
  draw();
}

async function open(other) {
  reading?.stop.abort();
  fresh = false;
  [name, mine] = [other, false];
  thread = new Thread();
  blocks.clear();
  if (!other) speak(null);
  document.body.classList.remove('threads-open');
  const hash = other ? `#${encodeURIComponent(other)}` : '';
  if (location.hash !== hash) history.pushState(null, '', hash || location.pathname);
  mark();
  if (other) {
    try {
      await load();
    } catch (error) {
      complain(error);
      return;
    }
    read();
  }
  inspector.show(other);
  for (const panel of panels) panel.thread?.(other);
  list();
  draw();
}

async function load() {
  const of = name;
  const view = await get(path());
  if (of !== name) return;
  blocks.clear();
  thread.load(view);
  // It is shown in the language that was spoken in it last.
  const said = thread.blocks.filter(({ kind }) => kind === 'user').map((it) => languageOf(it.text));
  speak(said.findLast(Boolean) ?? null);
  draw();
}

// Text is told as it is said, and only once: what was missed is in the log.
async function mend() {
  const of = name;
  const view = await get(path());
  if (of !== name) return;
  thread.mend(view);
  draw();
}

function read(first = null) {
  const stop = new AbortController();
  const now = { stop, of: name, cut: false };
  reading = now;
  const say = (cut) => {
    now.cut = cut;
    draw();
  };
  events(name, thread.head, { signal: stop.signal, take, cut: () => say(true), back: () => say(false), first })
    .catch((error) => {
      stop.abort();
      if (now === reading) complain(error);
    });
}

// Everything anew, as the server keeps it. What happens meanwhile is told by the next reader, which
// begins where that ends.
async function reload() {
  const of = name;
  reading?.stop.abort();
  try {
    await load();
  } catch (error) {
    if (of !== name) return;
    // What follows is shown all the same.
    mine = true;
    complain(error);
  }
  if (of !== name) return;
  reading?.stop.abort();
  read();
}

const ENDS = ['run_finished', 'run_parked', 'run_failed', 'run_cancelled'];

function take(ev) {
  if (ev.kind === 'run_started' && !mine && !ev.resumed) {
    // Somebody else began it, perhaps in another window: the server knows what was said.
    reload();
    return;
  }
  thread.take(ev);
  if (ENDS.includes(ev.kind)) {
    mine = false;
    mend().catch(complain);
    // The title and what the agent's panels show may have changed.
    list();
    for (const panel of panels) panel.changed?.();
  }
  if (ev.seq !== undefined && fresh) {
    fresh = false;
    inspector.show(name);
    for (const panel of panels) panel.thread?.(name);
    list();
  } else if (ev.seq !== undefined) inspector.more();
  draw();
}

// Begins a run; a conversation begins with its first words.
async function say(text, extra = {}) {
  if (thread.questions.size > 0) {
    await reply(text);
    return;
  }
  speak(languageOf(text) ?? lang());
  if (!name) {
    const first = `${new Date().toISOString().replace(/[^0-9]/g, '')}-${crypto.randomUUID().slice(0, 8)}`;
    name = first;
    thread = new Thread();
    history.pushState(null, '', `#${encodeURIComponent(first)}`);
  }
  mine = true;
  thread.said(text);
  draw();
  const follows = reading && !reading.stop.signal.aborted && reading.of === name;
  const of = name;
  let begun;
  try {
    // Who follows the thread hears of the run there; else it is heard from its beginning.
    begun = await (follows ? post : begin)(`${path()}/runs`, { text, extra: { lang: lang(), ...extra } }, { 'idempotency-key': crypto.randomUUID() });
  } catch (error) {
    thread.status = 'idle';
    complain(error);
    return;
  }
  if (!follows && of === name) {
    reading?.stop.abort();
    fresh = true;
    read(begun);
  }
}

// Words under a card answer it, ask about it, or are kept for later, as the agent understands them.
async function reply(text) {
  const [asked] = thread.questions.values();
  const own = wordsOf(asked);
  if (thread.questions.size === 1 && own) {
    await answer(asked, own(text)).catch(complain);
    return;
  }
  const of = thread;
  try {
    const response = await begin(`${path()}/runs`, { text, card: asked.id, extra: { lang: languageOf(text) ?? lang() } });
    const said = await told(response);
    if (said === null || of !== thread) return;
    thread.add({ kind: 'user', text });
    thread.add({ kind: 'text', text: said, open: false });
    draw();
  } catch (error) {
    complain(error);
  }
}

async function answer(asked, value) {
  mine = true;
  // The end of the run may be told before the request that began it has come back.
  thread.status = 'running';
  draw();
  try {
    await post(`${path()}/resume`, { answers: { [asked.id]: value }, ...(asked.digest ? { digests: { [asked.id]: asked.digest } } : {}) });
  } catch (error) {
    thread.status = 'waiting';
    draw();
    throw error;
  }
  thread.answered.add(asked.id);
  thread.questions.delete(asked.id);
  draw();
}

// A person who acts otherwise in place of answering rejects what was asked, and says what instead.
async function instead(text, more = {}) {
  const asked = [...thread.questions.values()].find(({ prompt }) => prompt?.type === 'confirm');
  if (!asked) return false;
  await answer(asked, { action: 'reject', text, ...more });
  return true;
}

// They are told in the order of their names, and later ones have later names.
async function newest(count) {
  const found = [];
  for (let next = ''; next !== null;) {
    const told = await get(`threads?limit=200${next && `&after=${encodeURIComponent(next)}`}`);
    found.push(...told.threads);
    next = told.next;
  }
  return found.slice(-count);
}

let listed = '';

async function list() {
  const threads = await newest(200).catch(() => null);
  if (!threads) return;
  threads.reverse();
  // What has not changed is left alone: a person may be about to press it.
  const now = JSON.stringify([threads, name, lang()]);
  if (now === listed) return;
  listed = now;
  waiting(threads);
  const shown = threads.find((it) => it.thread === name);
  if (shown?.title) thread.title = shown.title;
  draw();
  $('thread-list').replaceChildren(...threads.map((it) => element('li', { 'data-name': it.thread, 'data-status': it.status },
    element('button', { type: 'button', onclick: () => open(it.thread) }, it.title ?? word('untitled')),
    element('span', { class: 'dot', title: word(it.status) }),
    element('button', { type: 'button', class: 'remove', 'aria-label': `${word('remove')}: ${it.title ?? it.thread}`, onclick: () => drop(it.thread) }, '×'))));
  mark();
}

function mark() {
  for (const it of $('thread-list').children) it.setAttribute('aria-current', String(it.dataset.name === name));
}

async function drop(other) {
  if (!confirm(word('removing'))) return;
  try {
    await remove(`threads/${encodeURIComponent(other)}`);
    if (other === name) open(null);
  } catch (error) {
    complain(error);
  }
  list();
}

// The agent's own panels, and the inspector after them.
const inspectorRoot = element('section', { role: 'tabpanel' });
const inspector = new Inspector(inspectorRoot, (forked) => { list(); open(forked); });
const desk = { named, get, post, put, file, say, begin: () => open(null), path, lang, word, element, show, instead, busy: () => thread.busy, running: () => thread.status === 'running' };
const panels = agent.panels.map((panel) => {
  const root = element('section', { role: 'tabpanel' });
  return { ...panel.mount(root, desk), root, title: panel.title };
});

let chosen = 0;

function tabs() {
  const all = [...panels.map((panel) => [panel.title[lang()] ?? panel.title.en, panel.root]), [word('inspector'), inspectorRoot]];
  const turn = (nth) => {
    chosen = nth;
    all.forEach(([, root], at) => { root.hidden = at !== nth; });
    [...$('tabs').children].forEach((tab, at) => {
      tab.setAttribute('aria-selected', String(at === nth));
      tab.tabIndex = at === nth ? 0 : -1;
    });
  };
  $('tabs').replaceChildren(...all.map(([title], nth) => element('button', {
    role: 'tab', type: 'button', onclick: () => turn(nth),
    onkeydown: ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (step) {
        const next = (nth + step + all.length) % all.length;
        turn(next);
        $('tabs').children[next].focus();
      }
    },
  }, title)));
  $('panels').replaceChildren(...all.map(([, root]) => root));
  turn(chosen);
}

// A card's data is fetched when it is opened.
$('blocks').addEventListener('card', ({ detail }) => {
  const panel = panels.find((it) => it.card);
  detail.body.replaceChildren();
  if (panel) panel.card(detail.block, detail.body);
  else detail.body.append(element('pre', {}, JSON.stringify(detail.block.data, null, 2)));
});

$('say-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = $('say').value.trim();
  if (!text) return;
  if ($('send').disabled) {
    $('why').textContent = word('hint_running');
    return;
  }
  $('say').value = '';
  grow();
  say(text);
});
$('say').addEventListener('keydown', (event) => {
  // Enter that ends the choice of a character sends nothing.
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $('say-form').requestSubmit();
  }
});
const grow = () => {
  $('say').rows = Math.min(8, $('say').value.split('\n').length);
};
$('say').addEventListener('input', grow);
$('stop').addEventListener('click', () => act('cancel'));
$('new').addEventListener('click', () => { open(null); $('say').focus(); });
$('open-threads').addEventListener('click', () => document.body.classList.toggle('threads-open'));
for (const id of ['open-side', 'close-side']) $(id).addEventListener('click', () => {
  const closed = document.body.classList.toggle('no-side');
  $('open-side').setAttribute('aria-expanded', String(!closed));
  $(closed ? 'open-side' : 'close-side').focus();
});
// With the keyboard: a new conversation, the message, the panels.
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select, dialog')) return;
  const does = { n: () => $('new').click(), '/': () => $('say').focus(), '[': () => $('open-side').click() }[event.key];
  if (!does) return;
  event.preventDefault();
  does();
});
$('language').addEventListener('click', () => { choose(lang() === 'en' ? 'zh' : 'en'); text(); });
$('theme').addEventListener('click', () => {
  const dark = document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  paint(dark === 'dark' ? 'light' : 'dark');
});
function paint(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem('theme', theme);
}
// The language of the conversation that is shown; none for that of the person.
function speak(language) {
  if (follow(language)) text();
}

function text() {
  $('language').textContent = word('language');
  $('theme').textContent = '◐';
  const [first] = panels;
  $('open-side').textContent = first ? first.title[lang()] ?? first.title.en : word('details');
  $('theme').setAttribute('aria-label', word('theme'));
  tabs();
  label(document);
  for (const panel of panels) panel.changed?.();
  // What is shown already is said anew.
  blocks.clear();
  cards.clear();
  thread.again();
  list();
  draw();
}

keyFrom(() => new Promise((give) => {
  $('key').onclose = () => give($('key-value').value || null);
  $('key').showModal();
}));
window.addEventListener('popstate', () => open(decodeURIComponent(location.hash.slice(1)) || null));
if (localStorage.getItem('theme')) paint(localStorage.getItem('theme'));
if (innerWidth < 1024) document.body.classList.add('no-side');
text();
// What comes to wait elsewhere, such as a question of the evening, is told here.
const LOOK = 15_000;
setInterval(() => document.visibilityState === 'visible' && list(), LOOK);
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && list());
open(decodeURIComponent(location.hash.slice(1)) || null);
$('say').focus();
