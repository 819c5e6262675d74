/** Files that cases are given: strategies, prices and facts right and wrong, settings. By their place in a class's folder. */

const DIP = `# oversold, while the market rises
name: buy the dip
tickers: [AAPL, GSPC]
entry:
  field: rsi_zone
  bands: [oversold, deep_oversold]
exit: { hold: 20, stop: 2atr, target: 10% }
costs: 5bp,slip 2bp
portfolio: { max_positions: 4, size: equal }
`

/** A strategy file in which one thing is another. */
const dip = (from, to) => {
  if (!DIP.includes(from)) throw new Error(`the strategy has no ${from}`)
  return DIP.replace(from, to)
}

const BARS = `date,open,high,low,close,volume
2020-01-02,10,11,9.5,10.5,1000
2020-01-03,10.5,11.5,10,11,1200
2020-01-06,11,11.2,10.1,10.4,900
2020-01-07,10.4,10.9,10.2,10.8,1100
`
const bars = (from, to) => BARS.replace(from, to)

export const FILES = {
  'dip.yaml': DIP,
  'dip.json':
    '{"tickers":["GSPC"],"entry":{"field":"macd_state","bands":["expanding_positive"]},"exit":{"when":"leave"}}\n',
  'vol.yaml': dip('size: equal', 'size: vol 10% max 50%'),
  'no-exit.yaml': 'tickers: [AAPL]\nentry: { field: rsi_zone }\n',
  'unknown-key.yaml': dip('hold: 20', 'holdd: 20'),
  'unknown-field.yaml': dip('rsi_zone', 'rsi_zon'),
  'unknown-band.yaml': dip('deep_oversold', 'very_oversold'),
  'zero-hold.yaml': dip('hold: 20', 'hold: 0'),
  'bad-stop.yaml': dip('2atr', '2atx'),
  'bad-sizing.yaml': dip('size: equal', 'size: kelly'),
  'later.yaml': dip('bands: [', 'aftermath: sharp_gain\n  bands: ['),
  'twice.yaml': `${DIP}name: again\n`,
  'broken.yaml': dip('tickers: [AAPL, GSPC]', 'tickers: [AAPL, GSPC'),
  'empty.yaml': '',
  'list.yaml': '- AAPL\n- GSPC\n',
  'wrong.json': '{"tickers": ["AAPL"], }}',
  'strategy.txt': DIP,

  'tickers.txt': 'AAPL\n# a remark\nGSPC\n',
  'GOOD.csv': BARS,
  'semicolon.csv': 'Datum;Eröffnung;open;high;low;close;volume\n02.01.2020;1;10,0;11,0;9,5;10,5;1000\n',
  'german.csv':
    'date;open;high;low;close;volume\n02.01.2020;10,0;11,0;9,5;10,5;1000\n03.01.2020;10,5;11,5;10,0;11,0;1200\n',
  'headless.csv': BARS.slice(BARS.indexOf('\n') + 1),
  'tabs.txt': BARS.replaceAll(',', '\t'),
  'rows.json': '[{"date":"2020-01-02","open":10,"high":11,"low":9.5,"close":10.5,"volume":1000,"ticker":"ROW"}]\n',
  'MORE.csv': `${BARS}2020-01-08,10.8,11.3,10.6,11.2,1300\n`,
  'NEGATIVE.csv': bars('10.5,11.5,10,11,', '10.5,11.5,-10,11,'),
  'HIGHLOW.csv': bars('11,11.2,10.1', '11,10.1,11.2'),
  'TWICE.csv': bars('2020-01-03', '2020-01-02'),
  'DATE.csv': bars('2020-01-06', '2020-02-30'),
  'WORD.csv': bars('900', 'many'),
  'SHORT.csv': bars(',10.8,1100', ''),
  'AMBIGUOUS.csv': BARS.replace(/2020-01-0(\d)/g, '0$1/02/2020'),
  'NOTHING.csv': '',
  'HEADER.csv': BARS.slice(0, BARS.indexOf('\n') + 1),
  'TEXT.csv': 'these are words\nand no prices\n',
  'BROKEN.json': '{"prices": [',
  'earnings.csv':
    'ticker,report_date,session,eps_estimate,eps_actual\nGOOD,2020-01-03,post,1.00,1.25\nGOOD,2020-01-06,pre,1.1,1.0\n',
  'ratings.csv': 'ticker,known,session,strong_buy,buy,hold,sell,strong_sell\nGOOD,2020-01-03,pre,1,2,3,0,0\n',
  'bad-earnings.csv': 'ticker,report_date,session,eps_estimate,eps_actual\nGOOD,2020-01-03,noon,1.00,1.25\n',
  'bad-ratings.csv': 'ticker,known,strong_buy,buy,hold,sell,strong_sell\nGOOD,2020-01-03,1,2,3,0,-1\nGOOD,,1,1,1,1,1\n',
  'splits.csv': 'ticker,ex_date,ratio\nGOOD,2020-01-06,2\n',
  'no-facts.csv': 'ticker,moon\nGOOD,full\n',
  'text.db': 'this is no database, however long one reads it\n',
  'key.txt': 'bands_nobody\n',

  'config/config.json':
    '{\n  // where we work\n  "profile": "work",\n  "profiles": { "work": { "url": "http://127.0.0.1:9", "tier": "plus" } }\n}\n',
  'broken/config.json': '{ "profile": "work", \n "profiles": { \n',
  'setting/config.json': '{ "profil": "work" }\n',
  'missing/config.json': '{ "profile": "wrok", "profiles": { "work": { "url": "https://api.example.com" } } }\n',
  'address/config.json': '{ "profiles": { "work": { "url": "ftp://api.example.com" } } }\n',
  'tier/config.json': '{ "profiles": { "work": { "url": "https://api.example.com", "tier": "gold" } } }\n',
  'credentials/credentials.json': '{ "keys": [] }\n',
}

export const STRATEGIES = Object.keys(FILES).filter(name => /\.yaml$|^(dip|wrong)\.json$|^strategy/.test(name))
export const PRICES = Object.keys(FILES).filter(name => /^[A-Za-z-]+\.(csv|txt|json)$/.test(name))
export const CONFIGS = Object.keys(FILES).filter(name => name.includes('/'))
