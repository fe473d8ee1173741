// The parts of the page that touch no document. `node --test page.test.mjs`
import assert from 'node:assert/strict';
import test from 'node:test';
import { differences } from './diff.js';
import { layers, read } from './graph.js';
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
    { kind: 'tool', text: undefined, status: 'ok', seconds: undefined, open: undefined },
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
  assert.deepEqual(thread.blocks.map(({ kind, text }) => [kind, text]), [['user', 'not on Friday']]);
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
  assert.deepEqual(layers(graph), [['START'], ['n0'], ['n1'], ['END']]);
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
});
