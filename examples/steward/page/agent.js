// The steward's panel: what waits for you, what is to be done, and what is written.
const WORDS = {
  en: {
    attach: 'Attach a file', attached: 'Files for the next claim', desk: 'Desk', waits: 'Waits for you', tasks: 'To do', nothing: 'Nothing is to be done.',
    missing: 'still needed', documents: 'Written', none: 'Nothing is written yet.', and: ', ', status: { draft: 'draft', submitted: 'submitted', withdrawn: 'withdrawn', open: 'open', done: 'done' },
  },
  zh: {
    attach: '添加附件', attached: '待用的附件', desk: '工作台', waits: '等待你确认', tasks: '待办', nothing: '没有待办事项。',
    missing: '还需要', documents: '已写入', none: '还没有写入任何单据。', and: '、', status: { draft: '草稿', submitted: '已提交', withdrawn: '已撤回', open: '进行中', done: '已完成' },
  },
};
const [CHECK, SUBMIT] = ['run_duplicate_precheck', 'submit_application'];

function mount(root, desk) {
  const { element } = desk;
  const t = () => WORDS[desk.lang()];
  root.classList.add('steward');
  let [thread, state, asked, files, documents] = [null, null, [], [], { applications: [], reimbursements: [] }];
  // What people call forms, fields, choices and actions, as the program itself does.
  let words = { forms: [], actions: {} };
  desk.get('steward/words').then((told) => { words = told; name(told.forms); draw(); }).catch(() => {});

  // Of several that are under way, the last to begin tells how things are.
  let looking = 0;

  async function look() {
    const [of, own] = [thread, ++looking];
    const at = (path) => desk.get(path).catch(() => null);
    const name = of && encodeURIComponent(of);
    const [read, view, written, kept] = await Promise.all([
      of ? at(`threads/${name}/state`) : null, of ? at(`threads/${name}`) : null, at('steward/documents'),
      of ? at(`steward/attachments?conversation_id=${name}`) : null,
    ]);
    if (of !== thread || own !== looking) return;
    [state, asked] = [read?.state ?? null, view?.interrupts ?? []];
    documents = written ?? documents;
    files = kept?.files ?? [];
    draw();
  }

  // The card itself is in the conversation; here is only that it waits.
  const waiting = (question) => element('article', { class: 'waits' }, element('strong', {}, question.prompt.title ?? ''), ...links(question.prompt.files));

  const said = (label) => label?.[desk.lang()] ?? '';
  const form = (name) => words.forms.find((it) => it.name === name);
  const label = (of, name) => said(form(of)?.fields[name]?.label);
  function value(of, name, given) {
    if (Array.isArray(given)) return given.join(t().and);
    return said(form(of)?.fields[name]?.choices[given]) || String(given);
  }
  const rows = (of, fields) => Object.entries(fields).filter(([name]) => label(of, name)).map(([name, given]) =>
    element('tr', {}, element('th', { scope: 'row' }, label(of, name)), element('td', {}, value(of, name, given))));

  // A step that writes. What is handed in is checked first, and the finding goes with it; the card
  // that asks comes in the conversation.
  async function act(action, of, fields, checks) {
    const send = (name, more = {}) => desk.post('steward/actions/execute', {
      conversation_id: thread, client_trace_id: trace, action: name, arguments: fields, lang: desk.lang(), ...more,
    });
    const trace = crypto.randomUUID();
    note.textContent = '';
    for (const it of root.querySelectorAll('button')) it.disabled = true;
    try {
      const found = checks ? await send(CHECK, { arguments: { ...fields, form: of } }) : null;
      const passed = !found || found.outcome === 'succeeded';
      const done = passed ? await send(action, found ? { precheck_ref: found.action_result.data.precheck_ref } : {}) : found;
      await look();
      if (!['succeeded', 'needs_confirmation'].includes(done.outcome)) desk.show(note, done.message);
    } catch (error) {
      await look();
      desk.show(note, error.message);
    }
  }

  // While a card waits, it is what has to be answered.
  const button = (action, of, fields, checks) => (thread && !asked.length && !desk.busy() ? element('button', {
    type: 'button', 'data-action': action, onclick: () => act(action, of, fields, checks),
  }, said(words.actions[action])) : '');

  function task(it) {
    const done = it.status === 'done' ? it.action_steps.length : state.action_plan?.done?.length ?? 0;
    // The answer suggests what can be done next; one of an older version did not.
    const told = state.response?.tasks?.find((one) => one.task_id === it.task_id)?.suggested_actions;
    const own = () => it.action_steps.filter((step) => step.side_effect).map((step) => ({ step, arguments: it.fields }));
    const suggested = it.status === 'open' && !it.missing_fields.length ? told ?? own() : [];
    const checks = it.action_steps.some(({ action }) => action === CHECK);
    return element('article', {},
      element('h3', {}, `${said(form(it.form)?.label)} · ${t().status[it.status] ?? ''}${it.document ? ` · ${it.document}` : ''}`),
      element('table', {}, rows(it.form, it.fields)),
      it.missing_fields.length ? element('p', { class: 'missing' }, `${t().missing}: ${it.missing_fields.map((name) => label(it.form, name)).join(t().and)}`) : '',
      element('ol', { class: 'steps' }, it.action_steps.map((step, nth) => element('li', { 'data-done': String(nth < done) }, desk.named(step.action)))),
      suggested.map(({ step, arguments: given }) => button(step.action, it.form, given, checks && step.action === SUBMIT)));
  }

  // The key of the person goes with the request, so that a plain link would not do.
  async function take({ name, link }) {
    try {
      const saved = element('a', { href: URL.createObjectURL(await desk.file(link.slice(1))), download: name });
      saved.click();
      setTimeout(() => URL.revokeObjectURL(saved.href), 60_000);
    } catch (error) {
      desk.show(note, error.message);
    }
  }
  const links = (some = []) => (some.length ? [element('p', { class: 'files' },
    some.map((it) => element('a', { href: it.link.slice(1), onclick: (event) => { event.preventDefault(); take(it); } }, it.name)))] : []);

  const document_ = (of) => (it) => element('article', {},
    element('h3', {}, `${it.id} · ${t().status[it.status] ?? ''}`), element('table', {}, rows(of, it.fields)), ...links(it.files),
    of === 'application' && it.status === 'draft' ? button(SUBMIT, of, it.fields, true) : '');

  const note = element('p', { class: 'missing', role: 'status' });

  // Files belong to a conversation: there is none before the first message.
  async function attach(input) {
    const refused = [];
    note.textContent = '';
    for (const file of input.files) {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const content = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
      await desk.post('steward/attachments', { conversation_id: thread, name: file.name, content }).catch((error) => refused.push(error.message));
    }
    await look();
    if (refused.length) desk.show(note, refused.join('\n'));
  }

  const attachments = () => [
    element('label', { class: 'attach' }, `${t().attach} `, element('input', { type: 'file', multiple: true, onchange: (event) => attach(event.target) })),
    ...(files.length ? [element('p', {}, `${t().attached}:`), ...links(files)] : []),
  ];

  function draw() {
    const tasks = (state?.steward_state?.tasks ?? []).filter((it) => it.status !== 'closed');
    const written = [...documents.applications.map(document_('application')), ...documents.reimbursements.map(document_('reimbursement'))];
    // What was told of a step stays until something else is at work: this may draw what came before it.
    if (desk.busy()) note.textContent = '';
    root.replaceChildren(note,
      ...(asked.length ? [element('h2', {}, t().waits), ...asked.map(waiting)] : []),
      ...(thread ? attachments() : []),
      element('h2', {}, t().tasks), ...(tasks.length ? tasks.map(task) : [element('p', {}, t().nothing)]),
      element('h2', {}, t().documents), ...(written.length ? written : [element('p', {}, t().none)]));
  }

  return {
    thread(other) {
      [thread, state, asked, files] = [other, null, [], []];
      note.textContent = '';
      look();
    },
    changed: look,
  };
}

// The arguments of its tools are called as the program calls its fields, once it said how.
const fields = { en: {}, zh: {} };
function name(forms) {
  for (const form of forms) {
    for (const [field, { label }] of Object.entries(form.fields)) {
      for (const lang of Object.keys(fields)) fields[lang][field] = label[lang];
    }
  }
}

export default {
  fields,
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
