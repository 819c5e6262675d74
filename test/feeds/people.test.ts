import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { BadData, wordsAsText } from '../../src/core/errors.js'
import { FIELDS } from '../../src/core/fields/index.js'
import type { ReadResult, Remark } from '../../src/data/feeds/feed.js'
import { type Bar, randomBars } from '../support/bars.js'
import { draws } from '../support/full.js'
import { only, read, refusal, rowsOf } from './files.js'

/** Files as people have them: simulated bars in the shapes of the exports of tools. */

const BARS = randomBars(27, { length: 40, start: '2024-01-02', price: 160, tick: 0.01 })

const table = (header: string, row: (bar: Bar, i: number) => readonly unknown[], delimiter = ',') =>
  `${[header, ...BARS.map((bar, i) => row(bar, i).join(delimiter))].join('\n')}\n`
const prices = ({ open, high, low, close, volume }: Bar) => [open, high, low, close, volume]
const bare = (bar: Bar) => [bar.date, ...prices(bar)]
const plain = (header: string) => table(header, bare)
const WANTED = BARS.map(bare)
const dotted = (date: string) => date.split('-').reverse().join('.')
const compact = (date: string) => date.replaceAll('-', '')

const rowsIn = (result: ReadResult) => rowsOf(only(result))
const said = ({ remarks }: { remarks: Remark[] }) =>
  remarks.map(({ what, count, first }) => [wordsAsText(what), count, ...first])

/** The number as Excel in German writes it: `16.543,00`. */
const german = (value: number | null) =>
  String(value)
    .replace('.', ',')
    .replace(/\B(?=(\d{3})+(?!\d))(?<!,\d*)/g, '.')

describe('a column of symbols', () => {
  const tushare = table(
    'ts_code,trade_date,open,high,low,close,pre_close,change,vol',
    ({ date, open, high, low, close, volume }) =>
      ['600519.SH', compact(date), open, high, low, close, open, 0, volume] as const,
  )

  it.each('ts_code code secid instrument stock 股票代码 TckrSymb security pair 銘柄コード'.split(' '))(
    'is known as %s',
    async name => {
      const bars = only(await read('file.csv', tushare.replace('ts_code', name)))
      expect(bars.ticker).toBe('600519.SH')
      expect(rowsOf(bars)).toEqual(WANTED)
    },
  )

  it('of another name is pointed out where the ticker is the name of the file', async () => {
    const { tickers, remarks } = await read('prices.csv', tushare.replace('ts_code', 'thing'))
    expect(tickers[0]!.ticker).toBe('PRICES')
    expect(remarks.map(({ what }) => wordsAsText(what))).toEqual([
      'the ticker PRICES is the name of the file, and the column "thing", which is not read, has only "600519.SH"; ticker 600519.SH if that is the ticker',
    ])
    for (const name of ['currency', 'series', 'Exchange'])
      expect((await read('prices.csv', tushare.replace('ts_code', name))).remarks).toEqual([])
    expect((await read('prices.csv', tushare.replace('ts_code', 'thing'), { ticker: 'A' })).remarks).toEqual([])
  })

  it('that holds names of companies is not read', async () => {
    const text = table('date,open,high,low,close,volume,security', bar => [...bare(bar), 'Apple Inc.'])
    const { tickers, dialect } = await read('AAPL.csv', text)
    expect(tickers[0]!.ticker).toBe('AAPL')
    expect(dialect['columns not read']).toBe('security')
  })
})

describe('a column of volume', () => {
  it.each([
    'TOTTRDQTY',
    'TtlTradgVol',
    'Total Traded Quantity',
    'No. of Shares',
    'PX_VOLUME',
    'Volume (BTC)',
    'Volume BTC',
    '成交量(股)',
    'Stück',
  ])('is known as %s', async name => {
    const { tickers, withoutVolume } = await read('X.csv', plain(`date,open,high,low,close,${name}`))
    expect(rowsOf(tickers[0]!)).toEqual(WANTED)
    expect(withoutVolume).toEqual([])
  })

  it('is that of ticks where only they are counted', async () => {
    const header = '<DATE>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>'
    const counted = async (volume: number) => {
      const cells = (bar: Bar) => [bar.date.replaceAll('-', '.'), ...prices(bar), volume, 3]
      return rowsIn(await read('EURUSD.csv', table(header, cells, '\t')))
    }
    expect(await counted(0)).toEqual(WANTED)
    expect((await counted(7)).map(row => row[5])).toEqual(BARS.map(() => 7))
  })

  it('that is missing or empty is named, with the fields that stay empty', async () => {
    expect((await read('X.csv', plain('date,open,high,low,close,spread'))).withoutVolume).toEqual(['X'])
    const some = 'ticker,date,open,high,low,close,volume\nA,2024-01-02,1,1,1,1,\nB,2024-01-02,1,1,1,1,5\n'
    expect((await read('X.csv', some)).withoutVolume).toEqual(['A'])
    const named = FIELDS.filter(({ usesVolume }) => usesVolume).map(({ name }) => name)
    expect(named).toEqual(['volume_ratio_band', 'accumulation_state'])
    for (const { name, readings } of FIELDS)
      expect(/\bvolume\b/.test(readings.toString()), name).toBe(named.includes(name))
  })
})

describe('the words of another language', () => {
  it.each([
    ['German', 'Datum;Eröffnung;Hoch;Tief;Schluss;Volumen'],
    ['German (Ariva)', 'Datum;Erster;Hoch;Tief;Schlusskurs;Stuecke'],
    ['German (Investing.com)', 'Datum;Eröffn.;Hoch;Tief;Zuletzt;Vol.'],
    ['French', 'Date;Ouverture;Plus haut;Plus bas;Clôture;Volume'],
    ['French (Investing.com)', 'Date;Ouv.; Plus Haut;Plus Bas;Dernier;Vol.'],
    ['Spanish', 'Fecha;Apertura;Máximo;Mínimo;Cierre;Volumen'],
    ['Spanish (Investing.com)', 'Fecha;Apertura;Máximo;Mínimo;Último;Vol.'],
    ['Italian', 'Data;Apertura;Massimo;Minimo;Chiusura;Volume'],
    ['Italian (Investing.com)', 'Data;Apertura;Massimo;Minimo;Ultimo;Vol.'],
    ['Portuguese', 'Data;Abertura;Máxima;Mínima;Fechamento;Volume'],
    ['Chinese', '日期;开盘;最高;最低;收盘;成交量'],
    ['Chinese with units', '日期;开盘价(元);最高价(元);最低价(元);收盘价(元);成交量(股)'],
    ['Chinese (traditional)', '日期;開盤價;最高價;最低價;收盤價;成交股數'],
    ['Japanese', '日付;始値;高値;安値;終値;出来高'],
    ['Korean', '날짜;시가;고가;저가;종가;거래량'],
    ['Polish (Stooq)', 'Data;Otwarcie;Najwyzszy;Najnizszy;Zamkniecie;Wolumen'],
    ['German, decomposed', 'Datum;Eröffnung;Hoch;Tief;Schluss;Volumen'.normalize('NFD')],
    ['German, in capitals', 'DATUM;ERÖFFNUNG;HOCH;TIEF;SCHLUSS;VOLUMEN'],
  ])('is read: %s', async (_, header) => {
    const points = table(header, bare, ';')
    const commas = table(header, bar => [dotted(bar.date), ...prices(bar).map(german)], ';')
    for (const text of [points, commas]) expect(rowsIn(await read('X.csv', text))).toEqual(WANTED)
  })
})

describe('an encoding', () => {
  const text = plain('date,open,high,low,close,volume')
  const utf16 = (order: 'le' | 'be', content = text) => {
    const bytes = Buffer.from(`\ufeff${content}`, 'utf16le')
    return order === 'le' ? bytes : bytes.swap16()
  }

  it.each(['le', 'be'] as const)('is known by the byte order mark of UTF-16 (%s), also in a gzip', async order => {
    for (const content of [utf16(order), gzipSync(utf16(order))]) {
      const result = await read('X.csv', content)
      expect(rowsIn(result)).toEqual(WANTED)
      expect(result.dialect.encoding).toBe(`UTF-16${order.toUpperCase()}`)
    }
    const rows = BARS.map(({ date, ...bar }) => ({ date, ...bar }))
    expect(rowsIn(await read('X.json', utf16(order, JSON.stringify(rows))))).toEqual(WANTED)
  })

  it('of UTF-16 that is cut off, or without its mark, is refused', async () => {
    expect(await refusal('X.csv', utf16('le').subarray(0, -1))).toBe('X.csv: the UTF-16 text is damaged or cut off')
    expect(await refusal('X.csv', utf16('le').subarray(2))).toBe(
      'X.csv: this is UTF-16 text without a byte order mark; save it as UTF-8 and import that',
    )
  })

  it.each([
    ['windows-1252', 'Datum;Er\xf6ffnung;Hoch;Tief;Schluss;Volumen'],
    [
      'gb18030',
      '\xc8\xd5\xc6\xda;\xbf\xaa\xc5\xcc;\xd7\xee\xb8\xdf;\xd7\xee\xb5\xcd;\xca\xd5\xc5\xcc;\xb3\xc9\xbd\xbb\xc1\xbf',
    ],
    ['shift_jis', '\x93\xfa\x95t;\x8en\x92l;\x8d\x82\x92l;\x88\xc0\x92l;\x8fI\x92l;\x8fo\x97\x88\x8d\x82'],
  ])('of an older program is known by the names of the columns: %s', async (encoding, header) => {
    const result = await read('X.csv', Buffer.from(table(header, bare, ';'), 'latin1'))
    expect(rowsIn(result)).toEqual(WANTED)
    expect(result.dialect.encoding).toBe(encoding)
  })
})

describe('a row that is no bar', () => {
  const header = 'date,open,high,low,close,volume'
  const withRow = (row: string) => plain(header).replace(/(?<=\n)/, () => `${row}\n`)

  it.each(['2024-01-01,null,null,null,null,null', '2024-01-01,,,,,', '2024-01-01,NaN,NaN,NaN,NaN,0'])(
    'is a day without a trade, left out and said: %s',
    async row => {
      const result = await read('X.csv', withRow(row))
      expect(rowsIn(result)).toEqual(WANTED)
      expect(result.rows).toBe(BARS.length + 1)
      expect(said(result)).toEqual([[UNTRADED, 1, 'X.csv:2']])
    },
  )

  it.each([
    '2024-01-01,1,null,null,null,null',
    '2024-01-01,null,null,null,5,null',
    '2024-01-01,,,,,700',
    ',,,,,',
    '2024-13-01,,,,,',
  ])('is refused where it is half empty: %s', async row => {
    expect(await refusal('X.csv', withRow(row))).toMatch(/^X\.csv:2:\d+: /)
  })

  it('is said where no other is left', async () => {
    expect(await refusal('X.csv', `${header}\n2024-01-02,,,,,\n`)).toBe(`X.csv: there are no bars in it: ${UNTRADED}`)
  })

  it('is left out of JSON, too', async () => {
    const rows = [{ date: '2024-01-01', open: null, high: null, low: null, close: null, volume: null }, ...BARS]
    const result = await read('X.json', JSON.stringify(rows))
    expect(rowsIn(result)).toEqual(WANTED)
    expect(said(result)).toMatchObject([[UNTRADED, 1, expect.stringContaining('X.json:')]])
  })

  it.each([
    '"Downloaded from Barchart.com as of 01-02-2025 03:04am CST"',
    'Downloaded from Barchart.com as of 01-02-2025 03:04am CST\n',
    '"Prices of a vendor, without warranty"\n"Second line of text"\n',
  ])('is a footer at the end of the file: %s', async footer => {
    const result = await read('X.csv', plain(header) + footer)
    expect(rowsIn(result)).toEqual(WANTED)
    expect(result.rows).toBe(BARS.length)
    const lines = footer
      .trimEnd()
      .split('\n')
      .map((_, i) => `X.csv:${BARS.length + 2 + i}`)
    expect(said(result)).toEqual([[FOOTER, lines.length, ...lines]])
  })

  it('is a bad row before others, and where it is a row cut off', async () => {
    expect(await refusal('X.csv', withRow('"Some words of text"'))).toMatch(/^X\.csv:2:21: the row has 1 field/)
    for (const cut of ['2024-0', '"Jan 05', 'Jan 05'])
      expect(await refusal('X.csv', plain(header) + cut)).toMatch(/X\.csv:42:/)
  })

  it.each([
    ['of an address', 'https://www.example.com\n'],
    ['of a title and names', 'Price History\n"Security","AAPL US Equity"\n\nFrom: 1 Jan 2024\n'],
  ])('is a line above the header: %s', async (_, above) => {
    const result = await read('X.csv', above + plain(header))
    expect(rowsIn(result)).toEqual(WANTED)
    expect(result.dialect['lines above it']).toBe(`${above.split('\n').filter(line => line !== '').length}, left out`)
    expect(await refusal('X.csv', above + plain(header).replace('2024', 'x'))).toMatch(
      new RegExp(`^X\\.csv:${above.split('\n').length + 1}:1: date`),
    )
  })
})

const UNTRADED = 'a day without a trade, whose open, high, low and close are empty, is left out'
const FOOTER = 'text at the end of the file, which is no row, is left out'

describe('tickers side by side', () => {
  const second = randomBars(28, { length: 25, start: '2024-01-02', price: 40, tick: 0.01 })
  /** One was born when the other had 15 bars. */
  const born = BARS.length - second.length
  const later = second.map((bar, i) => ({ ...bar, date: BARS[born + i]!.date }))
  const OTHER = later.map(bare)
  const roles = ['adj', 'close', 'high', 'low', 'open', 'volume'] as const
  const NAMES = { adj: 'Adj Close', close: 'Close', high: 'High', low: 'Low', open: 'Open', volume: 'Volume' }
  type Cell = (typeof roles)[number]
  const cellOf = (bar: Bar | undefined, role: Cell) => (bar === undefined ? '' : bar[role === 'adj' ? 'close' : role])
  const bars = { AAPL: BARS, MSFT: [...Array.from({ length: born }, () => undefined), ...later] }
  type Ticker = keyof typeof bars
  const tickers: Ticker[] = ['AAPL', 'MSFT']
  const wide = (columns: readonly (readonly [Ticker, Cell])[], header: readonly string[]) =>
    `${[...header, ...BARS.map(({ date }, i) => [date, ...columns.map(([ticker, role]) => cellOf(bars[ticker][i], role))].join(','))].join('\n')}\n`
  const byPrice = (cells: readonly Cell[]) => cells.flatMap(role => tickers.map(ticker => [ticker, role] as const))
  const byTicker = (cells: readonly Cell[]) => tickers.flatMap(ticker => cells.map(role => [ticker, role] as const))
  const line = (name: string, cells: readonly string[]) => [name, ...cells].join(',')
  const blank = (columns: readonly unknown[]) => line('Date', Array(columns.length).fill(''))
  const symbols = (columns: readonly (readonly [Ticker, Cell])[]) => columns.map(([ticker]) => ticker)
  const headings = (columns: readonly (readonly [Ticker, Cell])[]) => columns.map(([, role]) => NAMES[role])
  const bareRoles = roles.slice(1)

  const all = byPrice(roles)
  const own = byPrice(bareRoles)
  const grouped = byTicker(bareRoles)
  const yfinance = wide(own, [line('Price', headings(own)), line('Ticker', symbols(own)), blank(own)])
  const named = (name: (role: string, ticker: Ticker) => string, columns = own) =>
    wide(columns, [
      line(
        'Date',
        columns.map(([ticker, role]) => name(NAMES[role], ticker)),
      ),
    ])
  it.each([
    ['yfinance', yfinance],
    ['yfinance, adjusted', wide(all, [line('Price', headings(all)), line('Ticker', symbols(all)), blank(all)])],
    [
      'yfinance, by ticker',
      wide(grouped, [line('Ticker', symbols(grouped)), line('Price', headings(grouped)), blank(grouped)]),
    ],
    ['pandas without names', wide(own, [line('', headings(own)), line('', symbols(own)), blank(own)])],
    ['pandas, two lines', wide(grouped, [line('', symbols(grouped)), line('', headings(grouped))])],
    ['pandas-datareader', wide(own, [line('Attributes', headings(own)), line('Symbols', symbols(own)), blank(own)])],
    ['quantmod', named((role, ticker) => `${ticker}.${role}`, grouped)],
    ['names joined', named((role, ticker) => `${role}_${ticker}`)],
    ['tuples', named((role, ticker) => `"('${role}', '${ticker}')"`)],
  ])('are read: %s', async (_, text) => {
    const result = await read('X.csv', text)
    expect(result.tickers.map(one => [one.ticker, rowsOf(one)])).toEqual([
      ['AAPL', WANTED],
      ['MSFT', OTHER],
    ])
    expect(result.rows).toBe(BARS.length)
    expect(result.dialect['side by side']).toBe('2 tickers')
    expect(said(result)).toEqual([['cells of a ticker are empty on a day on which others have a bar', born, 'MSFT']])
  })

  it('are bad in a row with a half-empty one, named once', async () => {
    const field = 1 + own.findIndex(([ticker, role]) => ticker === 'MSFT' && role === 'high')
    const row = born + 3 + 4
    const lines = yfinance.split('\n')
    lines[row - 1] = lines[row - 1]!.split(',').with(field, '').join(',')
    const bad = lines.join('\n')
    expect(await refusal('X.csv', bad)).toMatch(new RegExp(`^X\\.csv:${row}:\\d+: high is empty`))
    const { rejected, tickers: loaded } = await read('X.csv', bad, { skipBadRows: true })
    expect(rejected).toHaveLength(1)
    const { column, text } = rejected[0]!
    expect(text.slice(0, column - 1).split(',')).toHaveLength(field + 1)
    expect(rowsOf(loaded[0]!)).toEqual(WANTED)
    expect(rowsOf(loaded[1]!)).toEqual(OTHER.filter((_, i) => i !== 3))
  })

  it('have names of their own', async () => {
    expect(await refusal('X.csv', yfinance, { ticker: 'A' })).toBe(
      'X.csv:1: the file has several tickers ("AAPL", "MSFT"); leave ticker A away to import each under its own name',
    )
    const cells = ['A', 'B'].flatMap(one => ['Open', 'High', 'Low', 'Close'].map(name => [`${one}.${name}`, 1]))
    const wideJson = JSON.stringify([{ date: '2024-01-02', ...Object.fromEntries(cells) }])
    expect(await refusal('X.json', wideJson)).toBe(
      'X.json: has A, B side by side; import one document for each ticker, or a CSV',
    )
    const text = table('date,Bid_Open,Bid_High,Bid_Low,Bid_Close,Volume', bare)
    expect(await refusal('X.csv', text)).toMatch(/^X\.csv:1: /)
  })
})

describe('the name of a file', () => {
  const text = plain('time,open,high,low,close,Volume')
  it.each([
    ['NASDAQ_AAPL, 1D.csv', 'AAPL', 'NASDAQ'],
    ['BATS_SPY, 1D_5f3a2.csv', 'SPY', 'BATS'],
    ['NYSE_DLY_BRK.B, 1D (2).csv', 'BRK.B', 'NYSE'],
    ['Download Data - STOCK_US_XNAS_AAPL.csv', 'AAPL', 'XNAS'],
    ['Binance_BTCUSDT_d.csv', 'BTCUSDT', 'Binance'],
    ['EURUSD_Daily_202401020000_202402260000.csv', 'EURUSD'],
    ['#AAPL_D1_202401020000_202402260000.csv', 'AAPL'],
    ['EURUSD1440.csv', 'EURUSD'],
    ['EURUSD_Candlestick_1_D_BID_01.01.2024-26.02.2024.csv', 'EURUSD'],
    ['aapl_us_d.csv', 'AAPL.US'],
    ['cdr_d.csv', 'CDR'],
    ['^spx_d.csv', '^SPX'],
    ['aapl_daily_historical-data-02-26-2024.csv', 'AAPL'],
    ['daily_adjusted_IBM.csv', 'IBM'],
    ['AAPL Historical Data (1).csv', 'AAPL'],
    ['PETR4 Dados Históricos.csv', 'PETR4'],
    ['AAPL (1).csv', 'AAPL'],
    ['BTC-USD.csv', 'BTC-USD'],
  ])('of a known tool has the ticker: %s', async (name, ticker, exchange?: string) => {
    const result = await read(name, text)
    expect(only(result).ticker).toBe(ticker)
    const remark = `the ticker ${ticker} is from the name of the file, in which ${exchange} is the exchange`
    expect(said(result)).toEqual(exchange === undefined ? [] : [[remark, 1]])
  })

  it.each([
    ['my_prices.csv', 'MY'],
    ['NYSE_IBM.csv', 'IBM'],
    ['yahoo_aapl.csv', 'AAPL'],
    ['nasdaq-dollar_goog.csv', 'GOOG'],
    ['tiingo-eod_googl.csv', 'GOOGL'],
    ['HistoricalQuotes.csv', 'HISTORICALQUOTES'],
    ['kurse von siemens 2024.csv', 'KURSE'],
    ['数据.csv', 'AAPL'],
  ])('that may mean several things is asked about, with a line that works: %s', async (name, ticker) => {
    const refused = await read(name, text).catch((error: BadData) => error)
    expect(refused).toBeInstanceOf(BadData)
    const { remedy } = refused as BadData
    expect(remedy).toEqual({ command: 'import', words: [name], params: { ticker }, again: true })
    expect(only(await read(name, text, { ticker: String(remedy!.params!.ticker) })).ticker).toBe(ticker)
  })
})

describe('dates that Excel has left as numbers', () => {
  const serial = (date: string, from = '1899-12-30') => (Date.parse(date) - Date.parse(from)) / 86_400_000
  const serials = (from?: string, time = 0) =>
    table('Date,Open,High,Low,Close,Volume', bar => [serial(bar.date, from) + time, ...bare(bar).slice(1)])

  it('are read, and said', async () => {
    for (const time of [0, 0.5]) {
      const result = await read('X.csv', serials(undefined, time))
      expect(rowsIn(result)).toEqual(WANTED)
      expect(result.dialect.dates).toBe('Excel serial')
      const first = serial(BARS[0]!.date) + time
      expect(said(result)).toEqual([[`dates are serial numbers of Excel: ${first} is ${BARS[0]!.date}`, 1]])
    }
  })

  it('are asked about where they may count from 1904', async () => {
    const text = serials('1904-01-01')
    const number = serial(BARS[0]!.date, '1904-01-01')
    expect(await refusal('X.csv', text)).toBe(
      `X.csv:2:1: date "${number}" is a serial number of Excel, ${BARS[0]!.date} counted from 1904 or 2020-01-01 counted from 1900; the latter gives bars on weekends; give date_format Excel serial 1904 or Excel serial`,
    )
    const hints = { dateFormat: 'excel serial 1904' }
    expect(rowsIn(await read('X.csv', text, { hints }))).toEqual(WANTED)
  })

  it('are in no known form before 1970, and taken where they are said to be', async () => {
    const text = plain('date,open,high,low,close,volume').replace(/(?<=\n)\d{4}-\d{2}-\d{2}/g, date =>
      String(serial(date, '1970-01-01')),
    )
    expect(await refusal('X.csv', text)).toMatch(/^X\.csv:2:1: date "\d{5}" is in no known form/)
    const first = rowsIn(await read('X.csv', text, { hints: { dateFormat: 'Excel serial' } }))[0]!
    expect(first[0]).toBe('1953-12-31')
  })
})

describe('a refused table', () => {
  const remedyOf = async (text: string) => {
    const refused = await read('X.csv', text).catch((error: BadData) => error)
    expect(refused).toBeInstanceOf(BadData)
    return (refused as BadData).remedy
  }

  it.each([
    ['snapped_at,price,market_cap,total_volume', 'has a close alone'],
    ['date,close', 'has a close alone'],
    ['DATE,SP500', 'has one value a day'],
  ])('%s %s: the message says what is needed and what is there', async header => {
    const cells = (bar: Bar) => [bar.date, bar.close, 1_000_000, bar.volume].slice(0, header.split(',').length)
    expect(await refusal('X.csv', table(header, cells))).toBe(
      `X.csv:1: daily bars need open, high, low and close; this file has only one price a day (its columns are ${header.replaceAll(',', ', ')})`,
    )
  })

  it.each([
    ['of unknown words', 'Kuupäev;Avamine;Kõrgeim;Madalaim;Sulgemine;Maht', ';'],
    ['of unknown words in another order', 'a,b,c,d,e,f', ','],
    ['without a header, and wider than the own order', '', ','],
  ])('%s ends in a line that works: the names of the columns', async (_, header, delimiter) => {
    const order = (bar: Bar) =>
      header === 'a,b,c,d,e,f' || header === ''
        ? [bar.volume, bar.low, bar.open, bar.close, bar.high, bar.date, ...(header === '' ? [7, 7, 7] : [])].slice(
            header === '' ? 1 : 0,
          )
        : bare(bar)
    const text = table(header, order, delimiter).replace(/^\n/, '')
    const remedy = await remedyOf(text)
    expect(remedy).toMatchObject({ command: 'import', words: ['X.csv'], again: true })
    const bars = rowsIn(await read('X.csv', text, { hints: { header: String(remedy!.params!.header) } }))
    if (header.startsWith('Kuu')) expect(bars).toEqual(WANTED)
    else expect(bars.map(row => row.slice(0, 5))).toEqual(WANTED.map(row => row.slice(0, 5)))
  })
})

/** A layout of a vendor: the name of its file, its header, and how it writes a bar. */
type Shape = readonly [
  name: string,
  header: string,
  row: (bar: Bar, i: number) => readonly unknown[],
  delimiter?: string,
]

const slashed = (date: string, years = 4) => {
  const [year, month, day] = date.split('-')
  return `${month}/${day}/${year!.slice(-years)}`
}
/** Thousands in groups, before decimals as they are. */
const grouped =
  (sign: string, pattern = /\B(?=(\d{3})+(?!\d))/g) =>
  (value: number | null) => {
    const [whole, part] = String(value).split('.')
    return whole!.replace(pattern, sign) + (part === undefined ? '' : `.${part}`)
  }
const quotes = (cells: readonly unknown[]) => cells.map(cell => `"${cell}"`)
const french = (value: number | null) => grouped('\u202f')(value).replace('.', ',')
const indian = grouped(',', /(?<=\d)(?=(\d{2})*\d{3}$)/g)

const SHAPES: readonly Shape[] = [
  [
    'AAPL.csv (WSJ, two digits of the year)',
    'Date, Open, High, Low, Close, Volume',
    bar => [slashed(bar.date, 2), ...prices(bar)],
    ', ',
  ],
  [
    'AAPL.csv (MarketWatch)',
    'Date,Open,High,Low,Close,Volume',
    bar => [slashed(bar.date), ...quotes(prices(bar).map(grouped(',')))],
  ],
  [
    'AAPL.csv (Nasdaq)',
    'Date,Close/Last,Volume,Open,High,Low',
    ({ date, open, high, low, close, volume }) => [
      slashed(date),
      `$${close}`,
      volume,
      `$${open}`,
      `$${high}`,
      `$${low}`,
    ],
  ],
  [
    'AAPL.csv (Barchart)',
    'Time,Open,High,Low,Latest,Change,%Change,Volume',
    ({ date, open, high, low, close, volume }) => [slashed(date), open, high, low, close, 1, '0.5%', volume],
  ],
  ['AAPL.csv (Bloomberg)', 'Date,PX_OPEN,PX_HIGH,PX_LOW,PX_LAST,PX_VOLUME', bar => [slashed(bar.date), ...prices(bar)]],
  [
    'AAPL.csv (Refinitiv)',
    'Exchange Date,Close,Net,%Chg,Open,Low,High,Volume',
    ({ date, open, high, low, close, volume }) => [date, close, 1, '1%', open, low, high, volume],
  ],
  [
    'AAPL.csv (CRSP)',
    'PERMNO,date,TICKER,BIDLO,ASKHI,PRC,VOL,RET,OPENPRC',
    ({ date, open, high, low, close, volume }) => [14593, date, 'AAPL', low, high, close, volume, 0.1, open],
  ],
  [
    'AAPL.csv (Compustat)',
    'gvkey,datadate,tic,conm,cshtrd,prccd,prchd,prcld,prcod',
    ({ date, open, high, low, close, volume }) => ['001690', date, 'AAPL', 'APPLE INC', volume, close, high, low, open],
  ],
  [
    'x.csv (Wind)',
    '代码,名称,日期,开盘价(元),最高价(元),最低价(元),收盘价(元),成交量(股)',
    bar => ['AAPL', '贵州茅台', bar.date, ...prices(bar)],
  ],
  [
    'AAPL.csv (JoinQuant)',
    ',open,close,high,low,volume,money',
    ({ date, open, high, low, close, volume }) => [date, open, close, high, low, volume, 1],
  ],
  [
    'x.csv (NSE, bhavcopy)',
    'TradDt,BizDt,TckrSymb,SctySrs,OpnPric,HghPric,LwPric,ClsPric,TtlTradgVol',
    bar => [bar.date, bar.date, 'AAPL', 'EQ', ...prices(bar)],
  ],
  [
    'AAPL.csv (NSE, history)',
    '"Date ","series ","OPEN ","HIGH ","LOW ","close ","VOLUME "',
    bar => quotes([bar.date, 'EQ', ...prices(bar).map(indian)]),
  ],
  [
    'AAPL.csv (BSE)',
    'Date,Open Price,High Price,Low Price,Close Price,No.of Shares,% Deli. Qty to Traded Qty',
    bar => [bar.date, ...prices(bar), 1, ''],
  ],
  [
    'AAPL.csv (Dukascopy)',
    'Local time,Open,High,Low,Close,Volume',
    bar => [`${dotted(bar.date)} 00:00:00.000 GMT+0100`, ...prices(bar)],
  ],
  ['AAPL.csv (IBKR)', ',date,open,high,low,close,volume,average', (bar, i) => [i, bar.date, ...prices(bar), 1]],
  [
    'AAPL.csv (Excel in French)',
    'Date;Ouverture;Plus haut;Plus bas;Clôture;Volume',
    bar => [bar.date.split('-').reverse().join('/'), ...prices(bar).map(french)],
    ';',
  ],
  [
    'AAPL.csv (Excel in Swiss German)',
    'Datum;Eröffnung;Hoch;Tief;Schluss;Volumen',
    bar => [dotted(bar.date), ...prices(bar).map(grouped("'"))],
    ';',
  ],
  [
    'AAPL.csv (Excel in Japanese)',
    '日付,始値,高値,安値,終値,出来高',
    ({ date, ...bar }) => [
      date.replace(/-0?(\d+)-0?(\d+)/, '年$1月$2日'),
      ...quotes(prices({ date, ...bar }).map(grouped(','))),
    ],
  ],
  ['AAPL.csv (MetaTrader 4)', '', bar => [bar.date.replaceAll('-', '.'), '00:00', ...prices(bar)]],
  ['AAPL.csv (Kraken)', '', bar => [Date.parse(bar.date) / 1000, ...prices(bar), 100]],
  [
    'AAPL.csv (Binance)',
    '',
    bar => [Date.parse(bar.date), ...prices(bar), Date.parse(bar.date) + 86_399_999, 1, 1, 1, 1, 0],
  ],
]

describe('random bars in the layout of a vendor', () => {
  it.each(SHAPES.map(shape => [shape[0], shape] as const))('are read as they were: %s', async (_, shape) => {
    const [name, header, row, delimiter = ','] = shape
    for (let seed = 1; seed <= draws(200); seed++) {
      const bars = randomBars(seed, { length: 20 + seed, start: '2021-01-04', price: 10 ** (seed % 5), tick: 0.01 })
      const order = seed % 2 === 0 ? bars : bars.toReversed()
      const lines = [...(header === '' ? [] : [header]), ...order.map((bar, i) => row(bar, i).join(delimiter))]
      const found = only(
        await read(name.split(' ')[0]!, `${lines.join('\n')}\n`, name.startsWith('x') ? {} : { ticker: 'AAPL' }),
      )
      expect(found.ticker).toBe('AAPL')
      expect(rowsOf(found), `seed ${seed}`).toEqual(bars.map(bare))
    }
  })

  it('are refused in plain words where no ticker or no date is in them', async () => {
    const pair = table('date,symbol,open,high,low,close,volume', bar => [bar.date, 'BTC/USD', ...prices(bar)])
    expect(await refusal('X.csv', pair)).toBe(
      'X.csv:2:12: ticker "BTC/USD" is not 1 to 16 characters of A-Z 0-9 . - ^ =; give one with ticker BTCUSD',
    )
    expect(rowsIn(await read('X.csv', pair, { ticker: 'BTCUSD' }))).toEqual(WANTED)
    const bse = table('SC_CODE,SC_NAME,OPEN,HIGH,LOW,CLOSE,NO_OF_SHRS', bar => ['500002', 'ABB', ...prices(bar)])
    expect(await refusal('X.csv', bse)).toMatch(/^X\.csv:1: the header has no date; daily bars need date, /)
  })

  it('are refused where two digits may be the year or the day', async () => {
    for (const date of ['24/02/05', '02/03/24']) {
      const text = `date,open,high,low,close\n${date},1,1,1,1\n`
      expect(await refusal('X.csv', text)).toMatch(/^X\.csv:2:1: /)
    }
    const short = (bar: Bar) => [bar.date.slice(2).replaceAll('-', '/'), ...prices(bar)]
    const text = table('date,open,high,low,close,volume', short)
    expect(await refusal('X.csv', text)).toMatch(/is in no known form/)
  })
})
