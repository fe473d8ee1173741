// What the companion is, and what one may ask of it.
export default {
  title: { en: 'Companion', zh: '助手' },
  start: {
    en: {
      text: 'It calculates, tells the time, reads and writes files in its folder, and remembers what you ask it to. It writes a file only when you agree.',
      examples: ['(17 + 25) * 2', 'What time is it in Tokyo?', 'Remember that I drink tea', 'What do you remember?'],
    },
    zh: {
      text: '会计算、报时、读写自己文件夹里的文件，并记住你让它记住的事。写文件之前会先征得你同意。',
      examples: ['(17 + 25) * 2', '东京现在几点？', '记住我喜欢喝茶', '你记得什么？'],
    },
  },
  panels: [],
};
