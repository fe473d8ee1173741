// What the paper-trading desk is, and what one may ask of it.
export default {
  title: { en: 'Paper trading', zh: '模拟交易' },
  start: {
    en: {
      text: 'A trading desk on paper: no real money moves. Ask what there is, or say what to trade; an order, or a new trader, waits for your agreement.',
      examples: ['What is my balance?', 'What is the price of BTC?', 'Buy 0.1 BTC', 'Create a trader named alpha'],
    },
    zh: {
      text: '一个模拟交易台，不涉及真实资金。可以查询，也可以说要买卖什么；下单或新建交易员都会先等你同意。',
      examples: ['我的余额是多少？', 'BTC 现在什么价格？', '买入 0.1 BTC', '创建一个名为 alpha 的交易员'],
    },
  },
  panels: [],
};
