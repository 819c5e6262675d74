// Everything that a run makes lies in one folder, which goes when it ends.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const FOLDER = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'bands-bench-'))

process.on('exit', () => rmSync(FOLDER, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130))
