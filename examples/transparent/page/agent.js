// What the transparent agent is, and what one may ask of it. Its work is open to see.
export default {
  title: { en: 'Transparent agent', zh: '透明助手' },
  work: 'open',
  start: {
    en: {
      text: 'It finds your files, remembers, and reminds you, and shows every step that it takes. What changes something waits for your agreement.',
      examples: ['What files do I have?', 'Find all markdown files', 'List my reminders', 'What do you know of me?'],
    },
    zh: {
      text: '帮你找文件、记事、提醒，每一步都看得见。会改变东西的操作都先等你同意。',
      examples: ['帮我找出上周写的项目计划书', '我有哪些文件？', '列出我的提醒', '你知道我什么？'],
    },
  },
  implied: ['schedule', 'once'],
  panels: [],
};
