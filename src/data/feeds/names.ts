export const ROLES = ['ticker', 'date', 'time', 'open', 'high', 'low', 'close', 'volume', 'adj_close'] as const
export type Role = (typeof ROLES)[number]
export const PRICES = ['open', 'high', 'low', 'close'] as const
/** The order of the columns in rows without a header. */
export const USUAL_ORDER = ['date', ...PRICES, 'volume', 'adj_close']

/** Names of columns by role, the best first. Case, blanks, accents and signs do not count. */
type RoleNames = Partial<Record<Role, string>>

/** English names, and those of vendors: NSE, Bloomberg, Refinitiv, CRSP, Compustat, Tushare, MetaTrader. */
const ENGLISH: RoleNames = {
  ticker: `ticker, symbol, ticker symbol, stock, tic, code, ts_code, stock code, security code, wind code, secid,
    TckrSymb, RIC`,
  date: `date, datetime, timestamp, trade date, trading date, trading day, day, DTYYYYMMDD, index, open time, time, t,
    exchange date, TradDt, datadate, date/time, local time, GMT time`,
  time: 'time',
  open: 'open, o, open price, PX_OPEN, OPEN_PRC, OPENPRC, OpnPric, prcod',
  high: 'high, h, high price, PX_HIGH, HIGH_1, ASKHI, HghPric, prchd',
  low: 'low, l, low price, PX_LOW, LOW_1, BIDLO, LwPric, prcld',
  close: 'close, c, close price, close/last, last, latest, price, last price, PX_LAST, TRDPRC_1, PRC, ClsPric, prccd',
  volume: `volume, vol, v, PX_VOLUME, ACVOL_UNS, real volume, TOTTRDQTY, TtlTradgVol, total traded quantity, traded quantity,
    traded volume, total volume, trade volume, share volume, shares traded, no. of shares, NO_OF_SHRS, cshtrd, quantity,
    qty, TICKVOL, tick volume, volumefrom`,
  adj_close: 'adj close, adjusted close, adjusted, adj close price, close adj, close adjusted',
}

/** Names of columns that may hold tickers or something else. They count where the first row has a ticker. */
const DOUBTFUL_TICKER_NAMES = 'instrument, instrument id, security, asset, pair, coin, contract, name'

const LANGUAGES: Readonly<Record<string, RoleNames>> = {
  German: {
    ticker: 'Kürzel, Tickersymbol, WKN',
    date: 'Datum, Handelstag',
    open: 'Eröffnung, Eröffnungskurs, Eröffn., Eröffnungspreis, Erster, Anfang',
    high: 'Hoch, Höchst, Höchstkurs, Höchster, Tageshoch, Hochkurs',
    low: 'Tief, Tiefst, Tiefstkurs, Tiefster, Tagestief, Tiefkurs, Niedrig',
    close: 'Schluss, Schlusskurs, Schlußkurs, Schlussk., Zuletzt, Letzter, Kurs',
    volume: 'Stück, Stücke, Stuecke, Volumen, Handelsvolumen, Gehandelte Stücke',
    adj_close: 'Schlusskurs bereinigt, Bereinigter Schlusskurs, Adj. Schluss',
  },
  French: {
    ticker: 'Symbole',
    open: 'Ouverture, Ouv., Premier',
    high: 'Haut, Plus haut, Le plus haut, +Haut',
    low: 'Bas, Plus bas, Le plus bas, +Bas',
    close: 'Clôture, Fermeture, Dernier, Cours de clôture, Clôt.',
    volume: 'Volumes, Titres échangés',
    adj_close: 'Clôture ajustée, Cours ajusté',
  },
  Spanish: {
    ticker: 'Símbolo',
    date: 'Fecha',
    open: 'Apertura, Abrir',
    high: 'Máximo, Máx., Alto',
    low: 'Mínimo, Mín., Bajo',
    close: 'Cierre, Último, Precio de cierre, Cerrar',
    volume: 'Volumen',
    adj_close: 'Cierre ajustado, Cierre aj.',
  },
  Italian: {
    ticker: 'Simbolo',
    date: 'Data',
    open: 'Apertura, Aperto',
    high: 'Massimo, Max, Massima',
    low: 'Minimo, Min, Minima',
    close: 'Chiusura, Ultimo, Prezzo di chiusura',
    volume: 'Volumi, Quantità',
    adj_close: 'Chiusura rettificata, Chiusura adj',
  },
  Portuguese: {
    ticker: 'Ativo, Código de negociação',
    date: 'Data',
    open: 'Abertura',
    high: 'Máxima, Máximo, Alta',
    low: 'Mínima, Mínimo, Baixa',
    close: 'Fechamento, Fecho, Última, Último',
    volume: 'Volume negociado, Quantidade',
    adj_close: 'Fechamento ajustado, Fechamento aj.',
  },
  Chinese: {
    ticker: '股票代码, 证券代码, 代码, 股票代碼, 證券代號, 合约代码',
    date: '日期, 交易日期, 时间, 日期/时间, 交易日, 交易时间, 時間',
    open: '开盘, 开盘价, 今开, 開盤, 開盤價',
    high: '最高, 最高价, 最高價',
    low: '最低, 最低价, 最低價',
    close: '收盘, 收盘价, 收盤, 收盤價',
    volume: '成交量, 成交数量, 成交股數, 总手',
    adj_close: '复权收盘价, 后复权收盘价, 前复权收盘价',
  },
  Japanese: {
    ticker: '銘柄コード, 証券コード, コード',
    date: '日付, 年月日, 日時, 取引日',
    open: '始値',
    high: '高値',
    low: '安値',
    close: '終値',
    volume: '出来高, 売買高',
    adj_close: '調整後終値, 修正後終値',
  },
  Korean: {
    ticker: '종목코드',
    date: '날짜, 일자',
    open: '시가',
    high: '고가',
    low: '저가',
    close: '종가',
    volume: '거래량',
  },
  Polish: {
    date: 'Data',
    open: 'Otwarcie',
    high: 'Najwyższy, Najwyzszy',
    low: 'Najniższy, Najnizszy',
    close: 'Zamknięcie, Zamkniecie',
    volume: 'Wolumen',
  },
}

/** A name of a column without case, blanks, accents and signs. */
export function normalizedColumnName(name: string): string {
  if (/^[\x20-\x7e]*$/.test(name)) return name.toLowerCase().replace(/[^a-z0-9]/g, '')
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replace(/[^\p{L}\p{N}]/gu, '')
}

const normalizedNames = (text = ''): string[] => text.split(',').map(normalizedColumnName)

/** The plain names of each role, the best first; a column without a name is ''. */
export const COLUMN_NAMES = Object.fromEntries(
  ROLES.map(role => {
    const all = [ENGLISH, ...Object.values(LANGUAGES)].flatMap(names =>
      role in names ? normalizedNames(names[role]) : [],
    )
    return [role, [...new Set(all)]]
  }),
) as unknown as Record<Role, readonly string[]>

export const DOUBTFUL_TICKERS: readonly string[] = normalizedNames(DOUBTFUL_TICKER_NAMES)

const EXCHANGES = new Set(
  `NASDAQ NYSE AMEX ARCA NYSEARCA BATS CBOE OTC OTCMKTS TSX TSXV NEO CSE LSE LSIN XETR XETRA FWB SWB GETTEX TRADEGATE EURONEXT
  SIX MIL BME VIE GPW OMXSTO OMXCOP OMXHEX OSL BIST MOEX TASE NSE BSE HKEX SSE SZSE TWSE TPEX KRX TSE ASX NZX SGX IDX SET
  BURSA JSE BMFBOVESPA BMV BCBA TVC SP DJ FRED INDEX CME COMEX NYMEX CBOT ICEUS EUREX FX OANDA FOREXCOM FXCM PEPPERSTONE
  SAXO CAPITALCOM BINANCE BINANCEUS COINBASE KRAKEN BITSTAMP BITFINEX BYBIT OKX KUCOIN GEMINI CRYPTO CRYPTOCAP`.split(
    /\s+/,
  ),
)

/** Vendors and programs that people name files after. */
const VENDORS = new Set('YAHOO YFINANCE STOOQ TIINGO POLYGON QUANDL ALPHAVANTAGE EODHD ALPACA INVESTING SEC'.split(' '))

/** Whether a part of a file's name says where the file is from: `yahoo`, `tiingo-eod`, `NASDAQ`. */
export function isOrigin(part: string): boolean {
  const name = part.toUpperCase().split('-', 1)[0]!
  return EXCHANGES.has(name) || VENDORS.has(name)
}

/** How tools name their files; the first group that is there is the symbol. */
const FILE_NAME_SHAPES: readonly RegExp[] = [
  // MetaTrader: EURUSD_Daily_202401020000_202402260000, EURUSD1440
  /^(?<symbol>.+)_(?:Daily|D1)_\d{8,12}_\d{8,12}$/i,
  /^(?<symbol>[A-Z]{6})1440$/,
  // Dukascopy: EURUSD_Candlestick_1_D_BID_01.01.2024-31.12.2024
  /^(?<symbol>.+)_Candlestick_1_D_(?:BID|ASK)_.*$/i,
  // MarketWatch: Download Data - STOCK_US_XNAS_AAPL
  /^Download Data - [A-Z]+_[A-Z]+_(?<exchange>[A-Z]+)_(?<symbol>[^_]+)$/i,
  // Barchart: aapl_daily_historical-data-02-26-2024, aapl_price-history-02-26-2024
  /^(?<symbol>.+?)_(?:daily_)?(?:historical-data|price-history)-[\d-]+$/i,
  // Alpha Vantage: daily_AAPL, daily_adjusted_AAPL
  /^daily_(?:adjusted_)?(?<symbol>[^_]+)$/i,
  // CryptoDataDownload: Binance_BTCUSDT_d
  /^(?<exchange>Binance|Bitfinex|Bitstamp|Coinbase|Gemini|Kraken|Okx|Poloniex)_(?<symbol>[^_]+)_d$/i,
  // Investing.com: AAPL Historical Data, AAPL Stock Price History, PETR4 Dados Históricos
  /^(?<symbol>[^ ]+) (?:- )?(?:Historical Data|(?:Stock|ETF) Price History|Historische Daten|Historische Kurse)$/i,
  /^(?<symbol>[^ ]+) (?:- )?(?:Données Historiques|Datos históricos|Dados Históricos|Dati Storici)$/i,
]

/** Suffixes that vendors add to file names, by layout. */
const VENDOR_SUFFIXES: Readonly<Record<string, RegExp>> = {
  binance: /-\d+[a-z]+-\d{4}-\d{2}(-\d{2})?$/i,
  kraken: /_\d+$/,
}

/** TradingView: `NASDAQ_AAPL, 1D`, with a suffix after a repeated export. */
const TRADING_VIEW_FILE = /^(?<exchange>[A-Z0-9]+)(?:_DLY)?_(?<symbol>.+), *1?D(?:_[0-9a-z]{4,6})?$/i

/** Stooq: `aapl_us_d`, whose symbol is aapl.us. */
const STOOQ_FILE = /^(?<symbol>[^ _]+(?:_[a-z]{1,2})?)_d$/i

/** Names that programs give to any export. */
const GENERIC_FILE_NAMES =
  /^(historical[-_ ]?(quotes|data|prices)?|download|export|quotes|table|untitled|book1|sheet1)$/i

/** The symbol in the name of a file, and the exchange where the tool names it; null where the name has none. */
export function symbolInName(name: string, format: string): { symbol: string; exchange?: string | undefined } | null {
  // Browsers and people number copies.
  const withoutCopyNumber = name.normalize('NFC').replace(/ ?\(\d+\)$| - (Copy|Kopie)$/i, '')
  const withoutSuffix = withoutCopyNumber.replace(VENDOR_SUFFIXES[format] ?? '', '')
  if (GENERIC_FILE_NAMES.test(withoutCopyNumber)) return null
  const tradingView = TRADING_VIEW_FILE.exec(withoutCopyNumber)?.groups
  if (tradingView !== undefined) return { symbol: tradingView.symbol!, exchange: tradingView.exchange! }
  for (const pattern of FILE_NAME_SHAPES) {
    const { symbol, exchange } = pattern.exec(withoutCopyNumber)?.groups ?? {}
    if (symbol !== undefined) return { symbol: symbol.replace(/^#/, ''), exchange }
  }
  const stooq = STOOQ_FILE.exec(withoutSuffix)?.groups
  return { symbol: stooq === undefined ? withoutSuffix : stooq.symbol!.replaceAll('_', '.') }
}
