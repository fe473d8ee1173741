// The steward's panel: what waits for you, what is to be done, and what is written.
const WORDS = {
  en: {
    desk: 'Desk', waits: 'Waits for you', agree: 'Agree', decline: 'Do not', tasks: 'To do', nothing: 'Nothing is to be done.',
    missing: 'still needed', documents: 'Written', none: 'Nothing is written yet.', status: { draft: 'draft', submitted: 'submitted', open: 'open', done: 'done' },
    forms: { application: 'Trip', reimbursement: 'Claim', link: 'Link', attachment: 'Attachments' },
  },
  zh: {
    desk: '工作台', waits: '等待你确认', agree: '同意', decline: '不同意', tasks: '待办', nothing: '没有待办事项。',
    missing: '还需要', documents: '已写入', none: '还没有写入任何单据。', status: { draft: '草稿', submitted: '已提交', open: '进行中', done: '已完成' },
    forms: { application: '出差申请', reimbursement: '报销单', link: '关联', attachment: '附件' },
  },
};

function mount(root, desk) {
  const { element } = desk;
  const t = () => WORDS[desk.lang()];
  root.classList.add('steward');
  let [thread, state, asked, documents] = [null, null, [], { applications: [], reimbursements: [] }];

  async function look() {
    const of = thread;
    const at = (path) => desk.get(path).catch(() => null);
    const name = of && encodeURIComponent(of);
    const [read, view, written] = await Promise.all([
      of ? at(`threads/${name}/state`) : null, of ? at(`threads/${name}`) : null, at('steward/documents'),
    ]);
    if (of !== thread) return;
    [state, asked] = [read?.state ?? null, view?.interrupts ?? []];
    documents = written ?? documents;
    draw();
  }

  // What was shown is what is agreed to: its digest goes with the answer.
  async function answer(question, action) {
    const wrong = root.querySelector('.wrong');
    try {
      await desk.post(`${desk.path()}/resume`, {
        answers: { [question.id]: { action } }, ...(question.digest ? { digests: { [question.id]: question.digest } } : {}),
      });
    } catch (error) {
      if (wrong) desk.show(wrong, error.message);
    }
    look();
  }

  const waiting = (question) => element('article', { class: 'waits' },
    element('strong', {}, question.prompt.title ?? ''), element('p', {}, question.prompt.summary ?? ''),
    element('div', { class: 'choices' },
      element('button', { type: 'button', class: 'first', onclick: () => answer(question, 'approve') }, t().agree),
      element('button', { type: 'button', onclick: () => answer(question, 'reject') }, t().decline)),
    element('p', { class: 'wrong', role: 'alert' }));

  const shown = (value) => (Array.isArray(value) ? value.join(', ') : String(value));
  const rows = (fields) => Object.entries(fields).map(([name, value]) =>
    element('tr', {}, element('th', { scope: 'row' }, name), element('td', {}, shown(value))));

  function task(it) {
    const done = it.status === 'done' ? it.action_steps.length : state.action_plan?.done?.length ?? 0;
    return element('article', {},
      element('h3', {}, `${t().forms[it.form] ?? it.form} · ${t().status[it.status] ?? it.status}${it.document ? ` · ${it.document}` : ''}`),
      element('table', {}, rows(it.fields)),
      it.missing_fields.length ? element('p', { class: 'missing' }, `${t().missing}: ${it.missing_fields.join(', ')}`) : '',
      element('ol', { class: 'steps' }, it.action_steps.map((step, nth) => element('li', { 'data-done': String(nth < done) }, step.action))));
  }

  const document_ = (it) => element('article', {},
    element('h3', {}, `${it.id} · ${t().status[it.status] ?? it.status}`), element('table', {}, rows(it.fields)));

  function draw() {
    const tasks = (state?.steward_state?.tasks ?? []).filter((it) => it.status !== 'closed');
    const written = [...documents.applications, ...documents.reimbursements];
    root.replaceChildren(
      ...(asked.length ? [element('h2', {}, t().waits), ...asked.map(waiting)] : []),
      element('h2', {}, t().tasks), ...(tasks.length ? tasks.map(task) : [element('p', {}, t().nothing)]),
      element('h2', {}, t().documents), ...(written.length ? written.map(document_) : [element('p', {}, t().none)]));
  }

  return {
    thread(other) {
      [thread, state, asked] = [other, null, []];
      look();
    },
    changed: look,
  };
}

export default {
  title: 'Steward',
  panels: [{ title: { en: WORDS.en.desk, zh: WORDS.zh.desk }, mount }],
};
