// A conversation as the page shows it: a list of blocks in the order in which things happened,
// folded from what the server tells. Nothing here touches the document.
export class Thread {
  constructor(now = () => Date.now()) {
    this.now = now;
    this.questions = new Map();
    this.asked = new Map();
    this.answered = new Set();
    this.folded = new Set();
    this.next = 0;
    this.begin();
  }

  begin() {
    this.blocks = [];
    this.live = new Map();
    this.status = 'idle';
    this.title = null;
    this.error = null;
    this.head = 0;
    this.latest = 0;
    this.seen = new Set();
    this.changed = new Set();
    this.gone = new Set();
  }

  // While a question waits or the agent is at work, nothing else is sent.
  get busy() {
    return this.status === 'running' || this.questions.size > 0;
  }

  // Everything up to a position, as the server keeps it.
  load(view) {
    this.begin();
    Object.assign(this, { head: view.head, status: view.status, title: view.title, error: view.error ?? null });
    this.questions = new Map();
    const timeline = view.timeline ?? [];
    for (const item of timeline) this.remember(item);
    for (const asked of view.interrupts) this.ask(asked);
    // A question that came last waits for its answer, whoever tells of it.
    const last = timeline.at(-1);
    if (last?.kind === 'confirm_request' && last.state === 'open' && view.status === 'waiting') this.ask(last);
    // The timeline tells of it too, unless the server is older.
    if (view.status === 'failed' && view.error && this.blocks.at(-1)?.kind !== 'error') this.fail(view.error);
  }

  remember(item) {
    switch (item.kind) {
      case 'user_text': this.add({ kind: 'user', text: item.text }); break;
      case 'thinking_summary': this.think(item, null); break;
      case 'assistant_text':
        if (item.reasoning_content) this.think({ text: item.reasoning_content }, null);
        if (item.text) this.add({ kind: 'text', text: item.text, open: false });
        break;
      case 'tool_call':
        this.add({ kind: 'tool', call: item.call, name: item.name, status: 'proposed', preview: item.preview ?? '', arguments: item.arguments });
        break;
      case 'tool_result': this.result(item); break;
      case 'confirm_request':
        this.asked.set(item.id, item);
        if (item.state !== 'open') this.settle(item.id, item.state, item.answer);
        break;
      case 'business_card': FOLDS.card(this, item); break;
      case 'schedule_completed': this.add({ kind: 'card', card: item.kind, data: item.data ?? {} }); break;
      case 'status': this.say(item.code, item.summary); break;
      case 'correction': this.add({ kind: 'correction', text: item.message }); break;
      case 'note': this.note(item.name, item.data); break;
      default: break;
    }
  }

  // What was said while nobody listened, such as before the first stream was open, is put where it
  // was said. Nothing that is shown goes away.
  mend(view) {
    let at = 0;
    const behind = (is) => {
      const found = this.blocks.findIndex((block, index) => index >= at && is(block));
      if (found >= 0) at = found + 1;
      return found >= 0;
    };
    const said = (kind, text) => (block) => block.kind === kind && block.text !== '' && (block.text.includes(text) || text.includes(block.text.trim()));
    for (const item of view.timeline ?? []) {
      const kind = { user_text: 'user', assistant_text: 'text' }[item.kind];
      const text = item.text?.trim();
      if (kind && text && !behind(said(kind, text))) {
        this.add({ kind, text, open: false }, at);
        at += 1;
      } else if (item.kind === 'tool_call') behind((block) => block.call === item.call);
      else if (item.kind === 'confirm_request') behind((block) => block.asked === item.id);
    }
  }

  add(block, at = this.blocks.length) {
    block.id = this.next;
    this.next += 1;
    this.blocks.splice(at, 0, block);
    this.changed.add(block);
    return block;
  }

  touch(block) {
    this.changed.add(block);
    return block;
  }

  // Everything is drawn anew.
  again() {
    for (const block of this.blocks) {
      block.folded = false;
      this.changed.add(block);
    }
  }

  drop(block) {
    this.blocks.splice(this.blocks.lastIndexOf(block), 1);
    this.changed.delete(block);
    this.gone.add(block.id);
  }

  // What is said by the person in this page.
  said(text) {
    this.add({ kind: 'user', text });
    this.status = 'running';
  }

  // A durable event is told once; of one position there may be several, and after a cut they come again.
  take(ev) {
    if (ev.seq !== undefined) {
      if (ev.seq <= this.head || ev.seq < this.latest) return;
      if (ev.seq > this.latest) this.seen.clear();
      this.latest = ev.seq;
      const name = JSON.stringify(ev);
      if (this.seen.has(name)) return;
      this.seen.add(name);
    }
    const fold = FOLDS[ev.kind];
    if (fold) fold(this, ev);
  }

  // The block that a stream of pieces belongs to.
  stream(ev, kind) {
    return this.blocks.findLast((block) => block.kind === kind && block.stream === `${origin(ev)}/${ev.block}`);
  }

  open(ev, kind) {
    if (kind !== 'reasoning') this.stopThinking();
    const stream = `${origin(ev)}/${ev.block}`;
    const known = this.stream(ev, kind);
    if (known) return Object.assign(this.touch(known), { text: '', open: true });
    return this.add({ kind, stream, task: origin(ev), text: '', open: true, begun: this.now() });
  }

  piece(ev, kind) {
    const block = this.stream(ev, kind) ?? this.open(ev, kind);
    block.text += ev.text;
    this.touch(block);
  }

  // Reasoning ends when anything else begins; how long it took is kept.
  stopThinking() {
    for (const block of this.blocks) {
      if (block.kind === 'reasoning' && block.open) this.finish(block);
    }
  }

  // What was begun and says nothing, such as a message that was only a question, leaves no trace.
  finish(block) {
    block.open = false;
    if (block.text === '') this.drop(block);
    else {
      if (block.begun !== undefined) block.seconds = Math.max(1, Math.round((this.now() - block.begun) / 1000));
      this.touch(block);
    }
  }

  // What was thought, as it is kept: shown anew unless it was seen as it came.
  think({ text, seconds = null }, task) {
    const known = task && this.blocks.findLast((block) => block.kind === 'reasoning' && block.task === task);
    if (!known) this.add({ kind: 'reasoning', text, open: false, seconds });
  }

  // A tool is created while its call is written, called while it works, and then completed, blocked or failed.
  tool(call) {
    const known = this.blocks.findLast((block) => block.kind === 'tool' && block.call === call);
    return known ? this.touch(known) : this.add({ kind: 'tool', call, status: 'created', preview: '' });
  }

  result({ call, name, status, summary, result }) {
    const block = Object.assign(this.tool(call), { status: TOOL[status] ?? status ?? 'completed' });
    for (const [key, value] of Object.entries({ name, summary, result })) if (value !== undefined) block[key] = value;
  }

  say(code, text) {
    this.stopThinking();
    if (code === 'failed') {
      this.fail(text);
      return;
    }
    const last = this.blocks.at(-1);
    if (last?.kind === 'status' && last.code === code && last.text === text) return;
    this.add({ kind: 'status', code, text });
  }

  // A failure that is told twice, by whoever failed and by the end of the run, is one.
  fail(text) {
    const last = this.blocks.at(-1);
    if (last?.kind !== 'error' || last.text !== text) this.add({ kind: 'error', text });
  }

  // Something with a name of its own. What nobody knows here is shown as it is: nothing that happens
  // is hidden.
  note(name, data) {
    this.stopThinking();
    const custom = CUSTOM[name];
    if (custom) custom(this, data ?? {});
    else if (!QUIET.has(name)) this.add({ kind: 'note', name, data });
  }

  // A question is one however often it is told. One that the person has folded stays so; a new one opens.
  ask(asked) {
    this.asked.set(asked.id, asked);
    if (!this.answered.has(asked.id)) this.questions.set(asked.id, asked);
  }

  fold(id) {
    if (!this.folded.delete(id)) this.folded.add(id);
    return this.folded.has(id);
  }

  // What became of a question stays where it was answered.
  settle(id, state, answer) {
    const asked = this.asked.get(id);
    this.questions.delete(id);
    this.answered.add(id);
    if (!asked || this.blocks.some((block) => block.kind === 'asked' && block.asked === id)) return;
    const { prompt } = asked;
    const said = typeof answer === 'object' && answer !== null ? answer.action : answer;
    const how = { true: 'accepted', approve: 'accepted', accept: 'accepted', false: 'rejected', reject: 'rejected', cancel: 'rejected' }[String(said)];
    // Who changed something by hand in place of answering has rejected nothing.
    const told = answer?.call ? 'instead' : how ?? 'answered';
    this.add({ kind: 'asked', asked: id, title: prompt?.title ?? null, text: spoken(prompt), state: state === 'answered' ? told : state });
  }

  rest(status) {
    for (const block of [...this.blocks]) if (block.open) this.finish(block);
    this.live.clear();
    this.status = status;
  }

  leave(ev) {
    this.live.delete(origin(ev));
    // A call that was not proposed by the end of its task is void.
    for (const block of this.blocks) if (block.writing && block.task === origin(ev)) this.touch(block).void = true;
  }
}

// What a question says, in whatever field.
export const spoken = (prompt) => prompt?.summary ?? prompt?.question ?? prompt?.text ?? (typeof prompt === 'string' ? prompt : '');

const TOOL = { ok: 'completed' };

const origin = (ev) => {
  const from = ev.origin;
  return from ? `${from.scope ?? ''}/${from.node}#${from.visit}/${from.index ?? ''}/${from.attempt}` : '';
};

const FOLDS = {
  run_started: (thread) => { thread.status = 'running'; thread.error = null; },
  run_finished: (thread) => {
    thread.rest('idle');
    for (const id of [...thread.questions.keys()]) thread.settle(id, 'withdrawn');
  },
  run_parked: (thread, ev) => { thread.rest('waiting'); ev.interrupts.forEach((asked) => thread.ask(asked)); },
  run_failed: (thread, ev) => { thread.rest('failed'); thread.error = ev.error; thread.fail(ev.error); },
  run_cancelled: (thread, ev) => {
    thread.rest('idle');
    for (const id of [...thread.questions.keys()]) thread.settle(id, 'withdrawn');
    thread.say('interrupted', ev.why);
  },
  node_started: (thread, ev) => { thread.live.set(origin(ev), ev.origin.node); },
  node_finished: (thread, ev) => thread.leave(ev),
  node_failed: (thread, ev) => {
    thread.leave(ev);
    // What that attempt said is void.
    for (const block of thread.blocks) if (block.task === origin(ev)) thread.touch(block).void = true;
  },
  interrupt_raised: (thread, ev) => thread.ask(ev),
  interrupt_answered: (thread, ev) => {
    thread.settle(ev.id, 'answered', ev.answer);
    // What was said with an answer was said, in whatever window.
    const words = typeof ev.answer === 'string' ? ev.answer : ev.answer?.text;
    if (typeof words === 'string' && words.trim()) thread.add({ kind: 'user', text: words });
  },
  interrupt_expired: (thread, ev) => thread.settle(ev.id, 'expired'),
  reasoning_started: (thread, ev) => { thread.open(ev, 'reasoning'); },
  reasoning_delta: (thread, ev) => thread.piece(ev, 'reasoning'),
  reasoning_finished: (thread, ev) => { const block = thread.stream(ev, 'reasoning'); if (block) thread.finish(block); },
  text_started: (thread, ev) => { thread.open(ev, 'text'); },
  text_delta: (thread, ev) => thread.piece(ev, 'text'),
  text_finished: (thread, ev) => { const block = thread.stream(ev, 'text'); if (block) thread.finish(block); },
  tool_call_delta: (thread, ev) => {
    thread.stopThinking();
    const block = thread.tool(ev.call);
    if (block.status === 'created') Object.assign(block, { name: ev.name, task: origin(ev), writing: true, arguments: (block.arguments ?? '') + ev.arguments });
  },
  tool_call_proposed: (thread, ev) => {
    thread.stopThinking();
    const block = thread.tool(ev.call);
    const status = block.status === 'created' ? 'proposed' : block.status;
    Object.assign(block, { name: ev.name, arguments: ev.arguments, status, writing: false });
  },
  tool_started: (thread, ev) => {
    thread.stopThinking();
    Object.assign(thread.tool(ev.call), { name: ev.name, status: 'called', preview: ev.preview ?? '', writing: false });
  },
  tool_finished: (thread, ev) => thread.result(ev),
  status: (thread, ev) => thread.say(ev.code, ev.summary),
  card: (thread, ev) => {
    thread.stopThinking();
    if (ev.card === 'thinking_summary') thread.think(ev.data, origin(ev));
    else if (ev.card === 'notification') thread.add({ kind: 'status', code: ev.card, text: ev.data?.text ?? '' });
    else thread.add({ kind: 'card', card: ev.card, data: ev.data });
  },
  correction: (thread, ev) => { thread.add({ kind: 'correction', text: ev.message }); },
  custom: (thread, ev) => thread.note(ev.name, ev.data),
};

// What has a block of its own already, or is only for the inspector.
const QUIET = new Set(['context_compaction', 'final', 'model_call', 'schedule_preview', 'usage']);

const CUSTOM = {
  // Words from another window, or of a job; those of this one are shown when they are sent.
  user_input: (thread, data) => {
    const last = thread.blocks.findLast((block) => block.kind === 'user');
    if (last?.text !== data.content) thread.add({ kind: 'user', text: data.content });
  },
  thinking: (thread, data) => thread.add({ kind: 'status', code: 'thinking', text: data.content }),
  // That a plan is being made is seen; what was planned is a list of steps.
  planning: (thread, data) => planned(thread, 'planning', data),
  plan: (thread, data) => planned(thread, 'plan', data),
  replan: (thread, data) => planned(thread, 'replan', data),
  // The last step says what the answer says.
  step_start: (thread, data) => {
    if (data.step?.type !== 'respond') thread.add({ kind: 'note', name: 'step_start', data });
  },
  // What a step came to, its tool says; why it came to nothing, only this.
  step_complete: (thread, data) => {
    if (!data.outcome?.completed) thread.add({ kind: 'note', name: 'step_complete', data });
  },
};

// The steps that a plan tells of, in whatever form.
export const steps = (data) => data?.steps ?? (data?.changes ?? []).flatMap((change) => change?.planned?.steps ?? []);

function planned(thread, name, data) {
  if (data.steps || steps(data).length) thread.add({ kind: 'note', name, data });
}
