// node scripts/picture.mjs: draws the picture of the README, docs/page.png, from the built program and the bundled sample.
// It needs a Chromium (CHROMIUM names one) and writes the page of `bands ui` as wide as a laptop.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PICTURE = join(ROOT, 'docs', 'page.png')
const LARGEST = 150_000

const home = mkdtempSync(join(tmpdir(), 'bands-picture-'))
const words = [join(ROOT, 'bin', 'bands.js'), 'ui', '--no-open', '--port', '0']
const served = spawn(process.execPath, words, { env: { ...process.env, HOME: home } })
const [address] = await once(served.stdout, 'data')

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
})
const opened = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' })
await opened.goto(`${String(address).trim()}&ticker=GSPC&field=rsi_zone&band=oversold`)
await opened.waitForLoadState('networkidle')
await opened.screenshot({ path: PICTURE })
await browser.close()
served.kill()
rmSync(home, { recursive: true, force: true })

const { size } = statSync(PICTURE)
process.stdout.write(`docs/page.png: ${size} bytes\n`)
if (size > LARGEST) throw new Error(`the picture has more than ${LARGEST} bytes`)
