// The steward's panel: what waits for you, what is to be done, and what is written.
const WORDS = {
  en: {
    desk: 'Desk', waits: 'Waits for you', tasks: 'To do', nothing: 'Nothing is to be done.',
    missing: 'still needed', documents: 'Written', none: 'Nothing is written yet.', status: { draft: 'draft', submitted: 'submitted', open: 'open', done: 'done' },
    forms: { application: 'Trip', reimbursement: 'Claim', link: 'Link', attachment: 'Attachments' },
    fields: {
      reason: 'Reason', start_date: 'From', end_date: 'To', destination: 'Destination', transport: 'By', estimated_amount: 'Estimate',
      application: 'Trip', expense_date: 'Date', category: 'Kind', amount: 'Amount', attachments: 'Files', reimbursement: 'Claim',
    },
  },
  zh: {
    desk: '工作台', waits: '等待你确认', tasks: '待办', nothing: '没有待办事项。',
    missing: '还需要', documents: '已写入', none: '还没有写入任何单据。', status: { draft: '草稿', submitted: '已提交', open: '进行中', done: '已完成' },
    forms: { application: '出差申请', reimbursement: '报销单', link: '关联', attachment: '附件' },
    fields: {
      reason: '事由', start_date: '开始日期', end_date: '结束日期', destination: '目的地', transport: '交通方式', estimated_amount: '预计金额',
      application: '出差申请', expense_date: '费用日期', category: '类别', amount: '金额', attachments: '附件', reimbursement: '报销单',
    },
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

  // The card itself is in the conversation; here is only that it waits.
  const waiting = (question) => element('article', { class: 'waits' }, element('strong', {}, question.prompt.title ?? ''));

  const field = (name) => t().fields[name] ?? name.replaceAll('_', ' ');
  const shown = (value) => (Array.isArray(value) ? value.join(', ') : String(value));
  const rows = (fields) => Object.entries(fields).map(([name, value]) =>
    element('tr', {}, element('th', { scope: 'row' }, field(name)), element('td', {}, shown(value))));

  function task(it) {
    const done = it.status === 'done' ? it.action_steps.length : state.action_plan?.done?.length ?? 0;
    return element('article', {},
      element('h3', {}, `${t().forms[it.form] ?? it.form} · ${t().status[it.status] ?? it.status}${it.document ? ` · ${it.document}` : ''}`),
      element('table', {}, rows(it.fields)),
      it.missing_fields.length ? element('p', { class: 'missing' }, `${t().missing}: ${it.missing_fields.map(field).join(', ')}`) : '',
      element('ol', { class: 'steps' }, it.action_steps.map((step, nth) => element('li', { 'data-done': String(nth < done) }, step.action.replaceAll('_', ' ')))));
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
  title: { en: 'Business trips', zh: '差旅助手' },
  start: {
    en: {
      text: 'It fills in applications for trips and claims of expenses from your words, links them, and attaches files. Nothing is written before you agree.',
      examples: ['Apply for a trip to Shanghai from March 2 to March 5 by train, to visit a client, budget 1200 yuan', 'Reimburse my taxi 86.50 yuan from February 20', 'What have I written?'],
    },
    zh: {
      text: '用你的话填写出差申请和报销单，关联它们并附上文件。你同意之前不会写入任何内容。',
      examples: ['申请出差：3月2日到3月5日去上海拜访客户，坐火车，预算1200元', '报销2月20日的打车费86.5元', '我写了哪些单据？'],
    },
  },
  panels: [{ title: { en: WORDS.en.desk, zh: WORDS.zh.desk }, mount }],
};
