// The parts of the page that touch no document. `node --test page.test.mjs`
import assert from 'node:assert/strict';
import test from 'node:test';
import { readFileSync } from 'node:fs';
import { argumentLines, argumentsOf, clipped, code, names, parts } from './card.js';
import { differences } from './diff.js';
import { escaped, escapedLine } from './escape.js';
import { read } from './graph.js';
import { layers, layout } from './layout.js';
import { Thread } from './thread.js';

const at = { node: 'think', visit: 1, attempt: 1 };
const shown = (thread) => thread.blocks.map(({ kind, text, status, seconds, open }) => ({ kind, text, status, seconds, open }));

test('a stream becomes blocks in the order of what happened', () => {
  let clock = 0;
  const thread = new Thread(() => clock);
  const events = [
    { kind: 'run_started', seq: 1 },
    { kind: 'reasoning_started', origin: at, block: 'r' },
    { kind: 'reasoning_delta', origin: at, block: 'r', text: 'Which ' },
    { kind: 'reasoning_delta', origin: at, block: 'r', text: 'day?' },
    { kind: 'status', code: 'planning', summary: 'planning' },
    { kind: 'status', code: 'planning', summary: 'planning' },
    { kind: 'tool_started', call: 'c', name: 'find', preview: 'day=2' },
    { kind: 'tool_finished', seq: 2, call: 'c', name: 'find', status: 'ok', summary: 'free' },
    { kind: 'text_started', origin: at, block: 't' },
    { kind: 'text_delta', origin: at, block: 't', text: 'Day 2.' },
    { kind: 'run_finished', seq: 3 },
  ];
  for (const event of events) {
    clock += 700;
    thread.take(event);
  }
  assert.deepEqual(shown(thread), [
    { kind: 'reasoning', text: 'Which day?', status: undefined, seconds: 2, open: false },
    { kind: 'status', text: 'planning', status: undefined, seconds: undefined, open: undefined },
    { kind: 'tool', text: undefined, status: 'completed', seconds: undefined, open: undefined },
    { kind: 'text', text: 'Day 2.', status: undefined, seconds: 1, open: false },
  ]);
  assert.equal(thread.status, 'idle');
});

test('what is sent again after a cut is shown once, and an open block begins anew', () => {
  const thread = new Thread();
  const tool = { kind: 'tool_finished', seq: 4, call: 'c', name: 'find', status: 'ok', summary: 's' };
  const begin = { kind: 'text_started', origin: at, block: 't' };
  const half = { kind: 'text_delta', origin: at, block: 't', text: 'Hel' };
  for (const event of [tool, begin, half, tool, begin, half, { ...half, text: 'lo' }]) thread.take(event);
  assert.deepEqual(shown(thread).map(({ kind, text }) => [kind, text]), [['tool', undefined], ['text', 'Hello']]);
});

test('a question is asked once, and not again when it was answered', () => {
  const thread = new Thread();
  const asked = { id: 'q', prompt: {}, schema: {} };
  thread.take({ kind: 'interrupt_raised', seq: 1, ...asked });
  thread.take({ kind: 'run_parked', interrupts: [asked] });
  assert.equal(thread.questions.size, 1);
  thread.take({ kind: 'interrupt_answered', seq: 2, id: 'q' });
  thread.take({ kind: 'run_parked', interrupts: [asked] });
  assert.equal(thread.questions.size, 0);
  thread.take({ kind: 'interrupt_answered', seq: 3, id: 'p', answer: { action: 'reject', text: 'not on Friday' } });
  assert.deepEqual(thread.blocks.map(({ kind, state, text }) => [kind, state ?? text]), [['asked', 'answered'], ['user', 'not on Friday']]);
});

test('a failed attempt is void', () => {
  const thread = new Thread();
  thread.take({ kind: 'text_delta', origin: at, block: 't', text: 'Hm' });
  thread.take({ kind: 'node_failed', seq: 1, origin: at, error: 'no' });
  assert.equal(thread.blocks[0].void, true);
  thread.take({ kind: 'text_delta', origin: { ...at, attempt: 2 }, block: 't', text: 'Yes' });
  assert.deepEqual(thread.blocks.map(({ text }) => text), ['Hm', 'Yes']);
});

test('a thread that is restored shows what it showed', () => {
  const thread = new Thread();
  thread.load({
    head: 9, status: 'waiting', title: 'A week', interrupts: [{ id: 'q', prompt: {}, schema: {} }],
    timeline: [
      { kind: 'user_text', text: 'Plan' },
      { kind: 'tool_call', call: 'c', name: 'find', preview: 'day=2' },
      { kind: 'tool_result', call: 'c', name: 'find', status: 'failed', summary: 'full' },
      { kind: 'assistant_text', text: 'No.', reasoning_content: 'Hm' },
      { kind: 'of tomorrow' },
    ],
  });
  assert.deepEqual(thread.blocks.map(({ kind, status }) => [kind, status]),
    [['user', undefined], ['tool', 'failed'], ['reasoning', undefined], ['text', undefined]]);
  thread.take({ kind: 'tool_finished', seq: 9, call: 'x', name: 'old', status: 'ok' });
  assert.equal(thread.blocks.length, 4, 'what was restored is not told again');
  assert.deepEqual([...thread.questions.keys()], ['q']);
});

test('what was said while nobody listened is put where it was said', () => {
  const thread = new Thread();
  thread.said('Plan');
  for (const event of [
    { kind: 'status', code: 'planning', summary: 'planning' },
    { kind: 'interrupt_raised', seq: 4, id: 'q', prompt: { title: 'Shall I?' } },
    { kind: 'interrupt_answered', seq: 5, id: 'q', answer: { action: 'approve' } },
    { kind: 'tool_started', call: 'c', name: 'find' },
    { kind: 'text_started', origin: at, block: 't' },
    { kind: 'text_delta', origin: at, block: 't', text: 'Done.\n' },
    { kind: 'run_finished', seq: 9 },
  ]) thread.take(event);
  const timeline = [
    { kind: 'user_text', text: 'Plan' },
    { kind: 'assistant_text', text: 'Here is a plan.' },
    { kind: 'confirm_request', id: 'q', state: 'answered' },
    { kind: 'tool_call', call: 'c' },
    { kind: 'assistant_text', text: 'Done.' },
  ];
  thread.mend({ timeline });
  const told = () => thread.blocks.map(({ kind, text }) => [kind, text]);
  const whole = [['user', 'Plan'], ['text', 'Here is a plan.'], ['status', 'planning'], ['asked', ''], ['tool', undefined], ['text', 'Done.\n']];
  assert.deepEqual(told(), whole);
  thread.mend({ timeline });
  assert.deepEqual(told(), whole, 'nothing is put there twice');
});

test('differences are told place by place', () => {
  assert.deepEqual(differences({ a: 1, b: [1, 2], c: { d: 1 } }, { a: 1, b: [1, 3, 4], c: 'x' }), [
    { path: '/b/1', before: 2, after: 3 },
    { path: '/b/2', before: undefined, after: 4 },
    { path: '/c', before: { d: 1 }, after: 'x' },
  ]);
});

test('the picture is read from the graph that the server draws', () => {
  const graph = read('flowchart TD\n    START([START]) --> n0\n    n0["think"]\n    n1{{"ask"}}\n    END([END])\n    n0 -.-> n1\n    n0 -.-> END\n    n1 --> n0\n');
  assert.deepEqual(graph.edges.map(({ from, to, kind }) => [from, to, kind]),
    [['START', 'n0', 'always'], ['n0', 'n1', 'choice'], ['n0', 'END', 'choice'], ['n1', 'n0', 'always']]);
  assert.deepEqual(layers(graph).rows, [['START'], ['n0'], ['n1'], ['END']]);
  assert.equal(graph.nodes.get('n1').pause, true);
});

test('everything that an agent tells of itself is shown, and nothing twice', () => {
  const thread = new Thread();
  thread.said('find the plan');
  const custom = (name, data, seq) => thread.take({ kind: 'custom', name, data, seq });
  custom('user_input', { content: 'find the plan' }, 1);
  custom('thinking', { content: 'I look.' }, 2);
  custom('planning', { steps: [] }, 3);
  custom('model_call', {}, 4);
  custom('user_input', { content: 'and now the draft' }, 5);
  thread.take({ kind: 'card', card: 'notification', data: { text: 'time for tea' }, seq: 6 });
  assert.deepEqual(thread.blocks.map(({ kind, text, name }) => [kind, text ?? name]), [
    ['user', 'find the plan'], ['status', 'I look.'], ['note', 'planning'], ['user', 'and now the draft'], ['status', 'time for tea'],
  ]);
  // Opened again it shows the same.
  thread.load({ head: 6, status: 'idle', interrupts: [], timeline: [
    { kind: 'user_text', text: 'find the plan' }, { kind: 'note', name: 'thinking', data: { content: 'I look.' } },
    { kind: 'note', name: 'planning', data: { steps: [] } }, { kind: 'business_card', card: 'notification', data: { text: 'time for tea' } },
  ] });
  assert.deepEqual(thread.blocks.map(({ kind, text, name, card }) => [kind, text ?? name ?? card]), [
    ['user', 'find the plan'], ['status', 'I look.'], ['note', 'planning'], ['status', 'time for tea'],
  ]);
});

test('what was told is shown the same as it comes and after a reload', () => {
  const seen = ({ blocks }) => blocks.map(({ kind, text, name, status }) => [kind, text ?? name, status]);
  const notes = [
    ['thinking', { content: 'I look.' }], ['planning', { steps: [{ name: 'list_files' }] }], ['rag_query', { query: 'plan' }],
    ['planning', { asked: 'plan' }], ['plan', { changes: [{ planned: { goal: '', steps: [{ title: 'buy', type: 'tool' }] } }] }],
    ['step_start', { id: 's1', step: { title: 'buy', type: 'tool' } }], ['step_start', { id: 's2', step: { title: '', type: 'respond' } }],
    ['step_complete', { id: 's1', outcome: { completed: { output: '', changed: true } } }],
    ['step_complete', { id: 's2', outcome: { failed: { why: 'no camera' } } }],
  ];
  const live = new Thread();
  live.said('find the plan');
  let seq = 0;
  const take = (ev) => { seq += 1; live.take({ ...ev, seq }); };
  for (const [name, data] of notes) take({ kind: 'custom', name, data });
  take({ kind: 'correction', message: 'no such tool' });
  take({ kind: 'tool_call_proposed', call: 'c', name: 'take_photo', arguments: {} });
  take({ kind: 'status', code: 'failed', summary: 'no model' });
  take({ kind: 'run_failed', error: 'no model' });
  const again = new Thread();
  const timeline = [
    { kind: 'user_text', text: 'find the plan' }, ...notes.map(([name, data]) => ({ kind: 'note', name, data })),
    { kind: 'correction', message: 'no such tool' }, { kind: 'tool_call', call: 'c', name: 'take_photo', arguments: {} },
    { kind: 'status', code: 'failed', summary: 'no model' }, { kind: 'status', code: 'failed', summary: 'no model' },
  ];
  again.load({ head: seq, status: 'failed', error: 'no model', title: null, interrupts: [], timeline });
  assert.deepEqual(seen(again), seen(live));
  assert.deepEqual(seen(live).map(([kind, what]) => [kind, what]), [
    ['user', 'find the plan'], ['status', 'I look.'], ['note', 'planning'], ['note', 'rag_query'], ['note', 'plan'], ['note', 'step_start'],
    ['note', 'step_complete'], ['correction', 'no such tool'], ['tool', 'take_photo'], ['error', 'no model'],
  ]);
});

test('sch_125_a_switch_closes_reasoning_and_keeps_how_long_it_took', () => {
  const switches = [
    { kind: 'text_started', origin: at, block: 't' }, { kind: 'tool_started', call: 'c', name: 'find', preview: '' },
    { kind: 'status', code: 'planning', summary: 'planning' }, { kind: 'run_finished', seq: 9 },
  ];
  for (const next of switches) {
    let clock = 0;
    const thread = new Thread(() => clock);
    thread.take({ kind: 'reasoning_delta', origin: at, block: 'r', text: 'Hm' });
    clock = next.kind === 'status' ? 100 : 2600;
    thread.take(next);
    assert.deepEqual(shown(thread)[0], { kind: 'reasoning', text: 'Hm', status: undefined, seconds: next.kind === 'status' ? 1 : 3, open: false });
  }
});

test('sch_125_pieces_extend_their_block_and_equal_statuses_are_one', () => {
  const thread = new Thread();
  const other = { ...at, node: 'write' };
  for (const [origin, text] of [[at, 'a'], [other, 'x'], [at, 'b'], [other, 'y']]) thread.take({ kind: 'text_delta', origin, block: 't', text });
  const status = (code) => thread.take({ kind: 'status', code, summary: code });
  ['planning', 'planning', 'executing', 'planning'].forEach(status);
  assert.deepEqual(thread.blocks.map(({ text }) => text), ['ab', 'xy', 'planning', 'executing', 'planning']);
});

test('sch_125_a_tool_is_created_called_and_completed_or_blocked', () => {
  const thread = new Thread();
  const states = (events) => events.map((ev) => { thread.take({ call: 'c', origin: at, ...ev }); return thread.blocks[0].status; });
  assert.deepEqual(states([
    { kind: 'tool_call_delta', name: 'find', arguments: '{"d' }, { kind: 'tool_call_delta', name: 'find', arguments: 'ay":2}' },
    { kind: 'tool_call_proposed', seq: 1, name: 'find', arguments: { day: 2 } }, { kind: 'tool_started', name: 'find', preview: 'day=2' },
    { kind: 'tool_finished', seq: 2, name: 'find', status: 'ok', summary: 'free' }, { kind: 'tool_finished', seq: 3, name: 'find', status: 'blocked', summary: 'no' },
  ]), ['created', 'created', 'proposed', 'called', 'completed', 'blocked']);
  assert.equal(thread.blocks.length, 1);
  assert.deepEqual(thread.blocks[0].arguments, { day: 2 });
  thread.take({ kind: 'tool_call_delta', call: 'd', origin: at, name: 'move', arguments: '{' });
  thread.take({ kind: 'node_finished', seq: 4, origin: at });
  assert.deepEqual(thread.blocks.map((block) => block.void ?? false), [false, true], 'a call that was never proposed is void');
});

test('sch_126_a_folded_card_stays_folded_and_a_new_one_opens', () => {
  const thread = new Thread();
  const push = (id) => thread.take({ kind: 'run_parked', interrupts: [{ id, prompt: { title: 'Place it?', type: 'confirm' }, schema: {} }] });
  push('q');
  assert.ok(thread.busy, 'nothing else is sent while a card is open');
  assert.ok(thread.fold('q'));
  push('q');
  assert.deepEqual([[...thread.questions.keys()], thread.folded.has('q'), thread.busy], [['q'], true, true]);
  thread.take({ kind: 'interrupt_answered', seq: 5, id: 'q', answer: { action: 'reject', text: 'not on Friday' } });
  assert.equal(thread.busy, false);
  push('r');
  assert.deepEqual([[...thread.questions.keys()], thread.folded.has('r')], [['r'], false]);
  assert.deepEqual(thread.blocks.map(({ kind, state, text }) => [kind, state ?? text]), [['asked', 'rejected'], ['user', 'not on Friday']]);
});

test('who_changes_something_under_a_card_has_rejected_nothing', () => {
  const thread = new Thread();
  thread.take({ kind: 'run_parked', interrupts: [{ id: 'q', prompt: { title: 'Keep it?', type: 'confirm' }, schema: {} }] });
  const call = { name: 'move', arguments: { task_id: 1, new_day: 2, new_slot_start: 3 } };
  thread.take({ kind: 'interrupt_answered', seq: 5, id: 'q', answer: { action: 'reject', text: 'Move it.', call } });
  assert.equal(thread.blocks.find(({ kind }) => kind === 'asked').state, 'instead');
});

test('sch_126_a_message_that_was_only_a_question_leaves_no_empty_bubble', () => {
  const thread = new Thread();
  thread.take({ kind: 'text_started', origin: at, block: 't' });
  assert.equal(thread.blocks.length, 1);
  thread.take({ kind: 'run_parked', interrupts: [{ id: 'q', prompt: {}, schema: {} }] });
  assert.deepEqual([thread.blocks.length, [...thread.gone]], [0, [0]]);
});

test('sch_124_a_thread_is_opened_as_it_was_left', () => {
  const thread = new Thread();
  const asked = { kind: 'confirm_request', prompt: { title: 'Place it?', type: 'confirm' }, schema: {} };
  const view = {
    head: 9, status: 'waiting', title: null, interrupts: [],
    timeline: [
      { kind: 'user_text', text: 'Plan' }, { kind: 'thinking_summary', text: 'Hm', seconds: 4 },
      { kind: 'tool_call', call: 'c', name: 'find', arguments: {} }, { kind: 'tool_result', call: 'c', name: 'find', status: 'ok', summary: 'free' },
      { kind: 'tool_call', call: 'd', name: 'move', arguments: {} }, { kind: 'tool_result', call: 'd', status: 'blocked', result: 'no' },
      { ...asked, id: 'p', state: 'answered', answer: { action: 'approve' } }, { ...asked, id: 'x', state: 'expired' },
      { kind: 'status', code: 'done', summary: 'done' }, { kind: 'schedule_completed', data: {} },
      { ...asked, id: 'q', state: 'open' },
    ],
  };
  thread.load(view);
  assert.deepEqual(thread.blocks.map(({ kind, status, state, seconds, card }) => [kind, status ?? state ?? seconds ?? card]), [
    ['user', undefined], ['reasoning', 4], ['tool', 'completed'], ['tool', 'blocked'], ['asked', 'accepted'], ['asked', 'expired'],
    ['status', undefined], ['card', 'schedule_completed'],
  ]);
  assert.deepEqual([...thread.questions.keys()], ['q'], 'the question that came last is asked again');
  // A thought that is kept is the one that was seen as it came.
  const live = new Thread();
  live.take({ kind: 'reasoning_delta', origin: at, block: 'r', text: 'Hm' });
  live.take({ kind: 'card', seq: 1, origin: at, card: 'thinking_summary', data: { text: 'Hm', seconds: 4 } });
  assert.equal(live.blocks.length, 1);
});

test('a flood of events is folded, and what was seen is forgotten with its position', () => {
  const thread = new Thread();
  for (let nth = 1; nth <= 20_000; nth += 1) {
    thread.take({ kind: 'text_delta', origin: at, block: 't', text: 'ab' });
    thread.take({ kind: 'effect_done', seq: nth, key: 'k' });
  }
  for (let nth = 0; nth < 3000; nth += 1) thread.take({ kind: 'status', code: `s${nth}`, summary: '' });
  assert.deepEqual([thread.blocks.length, thread.blocks[0].text.length, thread.seen.size], [3001, 40_000, 1]);
});

test('sch_123_a_request_that_is_turned_away_is_sent_once_more_with_a_new_key', async () => {
  const [kept, sent] = [new Map([['key', 'old']]), []];
  globalThis.sessionStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };
  let valid = 'new';
  globalThis.fetch = async (path, { headers }) => {
    sent.push(headers.authorization);
    return headers.authorization === `Bearer ${valid}` ? Response.json({ path }) : Response.json({ error: { type: 'unauthorized', message: 'no' } }, { status: 401 });
  };
  const { get, keyFrom } = await import('./api.js');
  let asked = 0;
  keyFrom(async () => { asked += 1; return 'new'; });
  assert.deepEqual(await Promise.all([get('a'), get('b')]), [{ path: 'a' }, { path: 'b' }]);
  assert.deepEqual([asked, sent], [1, ['Bearer old', 'Bearer old', 'Bearer new', 'Bearer new']]);
  valid = 'another';
  await assert.rejects(get('c'), { status: 401, type: 'unauthorized' });
  assert.deepEqual([asked, sent.length], [2, 6], 'once more, and not again');
});

test('the nodes of a picture lie apart, inside it, and every line is drawn', () => {
  const names = ['chat', 'plan', 'confirm', 'interrupt', 'rough_build', 'execute', 'decide', 'act', 'deliver', 'keep', 'quick_task'];
  const ways = { chat: 'chat plan confirm rough_build execute quick_task deliver END', plan: 'plan confirm rough_build execute deliver interrupt',
    confirm: 'plan rough_build execute deliver interrupt', interrupt: 'plan confirm rough_build execute keep deliver END', rough_build: 'execute deliver',
    execute: 'decide act deliver', decide: 'act execute confirm keep deliver', act: 'execute deliver', keep: 'deliver', deliver: 'END', quick_task: 'END' };
  const nodes = new Map([['START', { name: 'START' }], ...names.map((name) => [name, { name }]), ['END', { name: 'END' }]]);
  const edges = [{ from: 'START', to: 'chat' }, ...Object.entries(ways).flatMap(([from, to]) => to.split(' ').map((it) => ({ from, to: it })))];
  const { nodes: places, lines, width, height } = layout({ nodes, edges });
  const all = [...places.values()];
  for (const [nth, a] of all.entries()) {
    assert.ok(a.x - a.wide / 2 >= 0 && a.x + a.wide / 2 <= width && a.y + a.high / 2 <= height);
    for (const b of all.slice(nth + 1)) assert.ok(Math.abs(a.y - b.y) >= a.high || Math.abs(a.x - b.x) >= (a.wide + b.wide) / 2);
  }
  assert.equal(lines.length, edges.length);
  for (const { from, to, back, d } of lines) {
    assert.match(d, /^M[-0-9.]+,/);
    if (from !== to) assert.equal(places.get(from).y < places.get(to).y, !back, `${from} to ${to}`);
  }
});

test('a run that failed is told once, where it failed', () => {
  const thread = new Thread();
  const failed = { kind: 'status', code: 'failed', summary: 'no model' };
  const load = (view) => thread.load({ head: 9, title: null, interrupts: [], ...view });
  const told = () => thread.blocks.map(({ kind, text }) => [kind, text]);
  load({ status: 'failed', error: 'no model', timeline: [{ kind: 'user_text', text: 'Plan' }, failed] });
  assert.deepEqual(told(), [['user', 'Plan'], ['error', 'no model']]);
  load({ status: 'idle', timeline: [{ kind: 'user_text', text: 'Plan' }, failed, { kind: 'user_text', text: 'Again' }] });
  assert.deepEqual(told(), [['user', 'Plan'], ['error', 'no model'], ['user', 'Again']], 'and stays');
});

test('a question is asked only while the thread waits for it', () => {
  const asked = { kind: 'confirm_request', id: 'q', state: 'open', prompt: {}, schema: {} };
  for (const status of ['idle', 'failed', 'unfinished', 'running', 'sleeping', 'waiting']) {
    const thread = new Thread();
    thread.load({ head: 9, status, title: null, interrupts: [], timeline: [asked] });
    assert.equal(thread.questions.size, status === 'waiting' ? 1 : 0, status);
  }
});

test('what an answer tells comes first, and the thread goes on where it ended', async () => {
  globalThis.sessionStorage = { getItem: () => null, setItem() {} };
  const frame = (seq) => `id: ${seq}\ndata: ${JSON.stringify({ ev: { kind: 'effect_done', seq } })}\n\n`;
  const [asked, taken, stop] = [[], [], new AbortController()];
  globalThis.fetch = async (path) => { asked.push(path); return new Response(frame(3)); };
  const { follow } = await import('./api.js');
  const take = ({ seq }) => { taken.push(seq); if (seq === 3) stop.abort(); };
  const cut = () => assert.fail('nothing was cut');
  await follow('desk', 0, { signal: stop.signal, take, cut, back() {}, first: new Response(frame(1) + frame(2)) });
  assert.deepEqual([taken, asked], [[1, 2, 3], ['threads/desk/events?after=2']]);
});

test('who stops reading is told nothing more, not even what came at the same time', async () => {
  globalThis.sessionStorage = { getItem: () => null, setItem() {} };
  const frame = (seq) => `id: ${seq}\ndata: ${JSON.stringify({ ev: { kind: 'effect_done', seq } })}\n\n`;
  globalThis.fetch = async () => new Response(frame(1) + frame(2));
  const { follow } = await import('./api.js');
  const [stop, taken] = [new AbortController(), []];
  const take = (ev) => { taken.push(ev.seq); stop.abort(); };
  await follow('desk', 0, { signal: stop.signal, take, cut() {}, back() {} });
  assert.deepEqual(taken, [1]);
});

const forged = JSON.parse(readFileSync(new URL('../../stream/tests/data/forged.json', import.meta.url)));

test('k35_forged_texts_are_marked_as_in_a_terminal', () => {
  assert.ok(forged.length > 20);
  for (const { name, text, times = 1, block, line } of forged) {
    const whole = text.repeat(times);
    assert.doesNotMatch(escaped(whole), /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff\u2028\u2029]/u, name);
    assert.doesNotMatch(escapedLine(whole), /[\n\t]/, name);
    if (block !== undefined) assert.deepEqual([escaped(whole), escapedLine(whole)], [block, line], name);
  }
  for (const text of ['naïve café e\u0301', 'می\u200cخواهم', '👨\u200d👩\u200d👧 ❤\ufe0f 👍🏽', '│ ├── src\n\t└── main.rs ║ ▓░█', 'กำลัง ที่', '请批准']) assert.equal(escaped(text), text);
});

test('k35_a_card_has_every_argument_whole', () => {
  const text = `begin\n${'so on\n'.repeat(10_000)}EVIL AT THE END`;
  const given = argumentsOf({ call: { arguments: { path: 'a.txt', text, 'x\ny': 5, empty: '' } } });
  assert.deepEqual(given.map(([name]) => name), ['path', 'text', 'x\ny', 'empty']);
  const { head, middle, tail } = parts(given[1][1]);
  assert.equal(head + middle + tail, text);
  assert.ok(head.startsWith('begin') && tail.endsWith('EVIL AT THE END') && head.length + tail.length < 1000);
  const wide = parts(`begin ${'x'.repeat(100_000)} end`);
  assert.ok(wide.head.length + wide.tail.length < 1000 && wide.tail.endsWith(' end'));
  assert.deepEqual(parts('short\ntext'), { head: 'short\ntext', middle: '', tail: '' });
  const paid = argumentsOf({ call: { arguments: { amount: 99999, to: 'attacker' } } });
  assert.deepEqual([names('Looks up the balance.', paid), names('attacker gets 99999', paid)], [false, true]);
  assert.equal(clipped('short'), 'short');
  assert.ok(clipped(`begin${'x'.repeat(9000)}end`).length < 130);
  // What the gate of fugato-tool writes, so that it is not shown twice.
  const call = { arguments: { n: 2, text: 'one\npath: b', 'x\ny': [1, 'a'] } };
  const [written, labels] = ['n: 2\ntext:\n  one\n  path: b\n"x\\ny": [1,"a"]', { n: 'two' }];
  assert.equal(argumentLines(argumentsOf({ call })), written);
  // People read what they call a value, and what the gate writes is known in spite of that.
  assert.deepEqual(argumentsOf({ call, labels })[0], ['n', 'two']);
  assert.equal(argumentLines(argumentsOf({ call, labels }, {})), written);
});

test('k35_a_code_is_the_one_that_the_server_makes', () => {
  assert.deepEqual(['i1', 'token', '问'].map(code), ['G5U5', 'Z9A6', 'C4F5']);
});
