// A conversation as the page shows it: a list of blocks in the order in which things happened,
// folded from what the server tells. Nothing here touches the document.
export class Thread {
  constructor(now = () => Date.now()) {
    this.now = now;
    this.blocks = [];
    this.questions = new Map();
    this.answered = new Set();
    this.live = new Map();
    this.status = 'idle';
    this.title = null;
    this.error = null;
    this.head = 0;
    this.seen = new Set();
    this.changed = new Set();
    this.next = 0;
  }

  // Everything up to a position, as the server keeps it.
  load(view) {
    this.blocks = [];
    this.head = view.head;
    this.seen = new Set();
    this.status = view.status;
    this.title = view.title;
    this.error = view.error ?? null;
    this.questions = new Map(view.interrupts.map((asked) => [asked.id, asked]));
    this.live = new Map();
    for (const item of view.timeline ?? []) this.remember(item);
  }

  remember(item) {
    switch (item.kind) {
      case 'user_text': this.add({ kind: 'user', text: item.text }); break;
      case 'assistant_text':
        if (item.reasoning_content) this.add({ kind: 'reasoning', text: item.reasoning_content, open: false, seconds: null });
        if (item.text) this.add({ kind: 'text', text: item.text, open: false });
        break;
      case 'tool_call':
        this.add({ kind: 'tool', call: item.call, name: item.name, status: 'called', preview: item.preview ?? '', arguments: item.arguments });
        break;
      case 'tool_result': {
        const tool = this.blocks.findLast((block) => block.kind === 'tool' && block.call === item.call);
        Object.assign(tool ?? this.add({ kind: 'tool', call: item.call, name: item.name, preview: '' }),
          { status: item.status, summary: item.summary, result: item.result });
        break;
      }
      case 'business_card': case 'schedule_completed':
        this.add({ kind: 'card', card: item.card ?? item.kind, data: item.data ?? {} });
        break;
      default: break;
    }
  }

  add(block) {
    block.id = this.next;
    this.next += 1;
    this.blocks.push(block);
    this.changed.add(block.id);
    return block;
  }

  touch(block) {
    this.changed.add(block.id);
    return block;
  }

  // What is said by the person in this page.
  said(text) {
    this.add({ kind: 'user', text });
    this.status = 'running';
  }

  take(ev) {
    if (ev.seq !== undefined) {
      const name = `${ev.seq}/${ev.kind}/${ev.id ?? ''}/${ev.call ?? ''}/${origin(ev)}`;
      if (ev.seq <= this.head || this.seen.has(name)) return;
      this.seen.add(name);
    }
    const fold = FOLDS[ev.kind];
    if (fold) fold(this, ev);
  }

  // The block that a stream of pieces belongs to.
  stream(ev, kind) {
    return this.blocks.findLast((block) => block.kind === kind && block.stream === `${origin(ev)}/${ev.block}`);
  }

  begin(ev, kind) {
    if (kind !== 'reasoning') this.stopThinking();
    const stream = `${origin(ev)}/${ev.block}`;
    const known = this.stream(ev, kind);
    if (known) return Object.assign(this.touch(known), { text: '', open: true });
    return this.add({ kind, stream, task: origin(ev), text: '', open: true, begun: this.now() });
  }

  piece(ev, kind) {
    const block = this.stream(ev, kind) ?? this.begin(ev, kind);
    block.text += ev.text;
    this.touch(block);
  }

  // Reasoning ends when anything else begins; how long it took is kept.
  stopThinking() {
    for (const block of this.blocks) {
      if (block.kind === 'reasoning' && block.open) this.finish(block);
    }
  }

  finish(block) {
    block.open = false;
    if (block.begun !== undefined) block.seconds = Math.max(1, Math.round((this.now() - block.begun) / 1000));
    this.touch(block);
  }

  ask(asked) {
    if (!this.answered.has(asked.id)) this.questions.set(asked.id, asked);
  }

  rest(status) {
    this.stopThinking();
    for (const block of this.blocks) if (block.open) this.finish(block);
    this.live.clear();
    this.status = status;
  }
}

const origin = (ev) => {
  const from = ev.origin;
  return from ? `${from.scope ?? ''}/${from.node}#${from.visit}/${from.index ?? ''}/${from.attempt}` : '';
};

const FOLDS = {
  run_started: (thread) => { thread.status = 'running'; thread.error = null; },
  run_finished: (thread) => { thread.rest('idle'); thread.questions.clear(); },
  run_parked: (thread, ev) => { thread.rest('waiting'); ev.interrupts.forEach((asked) => thread.ask(asked)); },
  run_failed: (thread, ev) => { thread.rest('failed'); thread.error = ev.error; thread.add({ kind: 'error', text: ev.error }); },
  run_cancelled: (thread, ev) => { thread.rest('idle'); thread.add({ kind: 'status', code: 'cancelled', text: ev.why }); },
  node_started: (thread, ev) => { thread.live.set(origin(ev), ev.origin.node); },
  node_finished: (thread, ev) => { thread.live.delete(origin(ev)); },
  node_failed: (thread, ev) => {
    thread.live.delete(origin(ev));
    // What that attempt said is void.
    for (const block of thread.blocks) if (block.task === origin(ev)) thread.touch(block).void = true;
  },
  interrupt_raised: (thread, ev) => thread.ask(ev),
  interrupt_answered: (thread, ev) => {
    thread.answered.add(ev.id);
    thread.questions.delete(ev.id);
    // What was said with an answer was said, in whatever window.
    const words = typeof ev.answer === 'string' ? ev.answer : ev.answer?.text;
    if (typeof words === 'string' && words.trim()) thread.add({ kind: 'user', text: words });
  },
  interrupt_expired: (thread, ev) => { thread.answered.add(ev.id); thread.questions.delete(ev.id); },
  reasoning_started: (thread, ev) => { thread.begin(ev, 'reasoning'); },
  reasoning_delta: (thread, ev) => thread.piece(ev, 'reasoning'),
  reasoning_finished: (thread, ev) => { const block = thread.stream(ev, 'reasoning'); if (block) thread.finish(block); },
  text_started: (thread, ev) => { thread.begin(ev, 'text'); },
  text_delta: (thread, ev) => thread.piece(ev, 'text'),
  text_finished: (thread, ev) => { const block = thread.stream(ev, 'text'); if (block) thread.finish(block); },
  tool_call_proposed: (thread, ev) => {
    thread.stopThinking();
    const known = thread.blocks.findLast((block) => block.kind === 'tool' && block.call === ev.call);
    Object.assign(known ? thread.touch(known) : thread.add({ kind: 'tool', call: ev.call, status: 'called', preview: '' }),
      { name: ev.name, arguments: ev.arguments });
  },
  tool_started: (thread, ev) => {
    thread.stopThinking();
    const known = thread.blocks.findLast((block) => block.kind === 'tool' && block.call === ev.call);
    Object.assign(known ? thread.touch(known) : thread.add({ kind: 'tool', call: ev.call }),
      { name: ev.name, status: 'called', preview: ev.preview ?? '' });
  },
  tool_finished: (thread, ev) => {
    const known = thread.blocks.findLast((block) => block.kind === 'tool' && block.call === ev.call);
    Object.assign(known ? thread.touch(known) : thread.add({ kind: 'tool', call: ev.call, preview: '' }),
      { name: ev.name, status: ev.status, summary: ev.summary, result: ev.result });
  },
  status: (thread, ev) => {
    thread.stopThinking();
    const last = thread.blocks.at(-1);
    if (last?.kind === 'status' && last.code === ev.code && last.text === ev.summary) return;
    thread.add({ kind: 'status', code: ev.code, text: ev.summary });
  },
  card: (thread, ev) => {
    thread.stopThinking();
    if (ev.card === 'notification') thread.add({ kind: 'status', code: ev.card, text: ev.data?.text ?? '' });
    else thread.add({ kind: 'card', card: ev.card, data: ev.data });
  },
  correction: (thread, ev) => { thread.add({ kind: 'correction', text: ev.message }); },
  custom: (thread, ev) => {
    thread.stopThinking();
    const custom = CUSTOM[ev.name];
    if (custom) custom(thread, ev.data ?? {});
    // What nobody knows here is shown as it is: nothing that happens is hidden.
    else if (!QUIET.has(ev.name)) thread.add({ kind: 'note', name: ev.name, data: ev.data });
  },
};

// What has a block of its own already, or is only for the inspector.
const QUIET = new Set(['final', 'model_call', 'usage']);

const CUSTOM = {
  // Words from another window, or of a job; those of this one are shown when they are sent.
  user_input: (thread, data) => {
    const last = thread.blocks.findLast((block) => block.kind === 'user');
    if (last?.text !== data.content) thread.add({ kind: 'user', text: data.content });
  },
  thinking: (thread, data) => thread.add({ kind: 'status', code: 'thinking', text: data.content }),
};
