// node scripts/picture.mjs: draws the picture of the README, docs/study.png, from the built program and the bundled sample.
// It needs a Chromium (CHROMIUM names one) and writes the top of one report page as wide as a laptop.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PICTURE = join(ROOT, 'docs', 'study.png')
const LARGEST = 150_000

const home = mkdtempSync(join(tmpdir(), 'bands-picture-'))
const page = join(home, 'study.html')
const words = ['study', 'GSPC', 'rsi_zone', '--band', 'oversold', '--report', page]
execFileSync(process.execPath, [join(ROOT, 'bin', 'bands.js'), ...words], { env: { ...process.env, HOME: home } })

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
})
const opened = await browser.newPage({ viewport: { width: 1280, height: 390 }, colorScheme: 'light' })
await opened.goto(pathToFileURL(page).href)
await opened.screenshot({ path: PICTURE })
await browser.close()
rmSync(home, { recursive: true, force: true })

const { size } = statSync(PICTURE)
process.stdout.write(`docs/study.png: ${size} bytes\n`)
if (size > LARGEST) throw new Error(`the picture has more than ${LARGEST} bytes`)
