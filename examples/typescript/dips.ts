// Which tickers became oversold lately, how did such days turn out before, and could that be luck?
import { BandsError, openBands } from 'bands'

const percent = (share: number | null) => (share === null ? 'unknown' : `${(100 * share).toFixed(1)} %`)

const bands = await openBands({ asOf: '2018-02-09' })
try {
  const { matches } = await bands.screen({ when: 'rsi_zone enters oversold', since: 5 })
  for (const { ticker, since } of matches) {
    const { groups } = await bands.tally({ tickers: [ticker], field: 'rsi_zone', band: 'oversold' })
    const month = groups[0]?.windows.find(({ window }) => window === '20d')
    const rose = percent(month?.returns?.hit_rate ?? null)
    console.log(
      `${ticker} became oversold on ${since}; 20 days after such days it was up in ${rose} of ${month?.n} cases`,
    )
  }

  const tickers = matches.map(({ ticker }) => ticker)
  const study = await bands.study({ tickers, field: 'rsi_zone', band: 'oversold', horizon: [20] })
  for (const { window, verdict } of study.windows) console.log(`${window}: ${verdict}`)
} catch (error) {
  if (!(error instanceof BandsError)) throw error
  console.error(`${error.code}: ${error.message}`)
  process.exitCode = 1
} finally {
  await bands.close()
}
