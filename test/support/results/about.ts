import type { ReportAbout } from '../../../src/app/report/report.js'

export const ABOUT: ReportAbout = {
  command: 'bands study AAPL rsi_zone --band oversold --report out.html',
  version: '0.1.0',
  source: 'made prices, for tests',
  as_of: '2026-11-20',
  tier: null,
  adjustment: 'adjusted for splits and dividends',
  inputs: 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
}
