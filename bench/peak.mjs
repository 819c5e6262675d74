// Preloaded into a measured process: writes its peak memory, in bytes, to the file that BENCH_PEAK names.
import { writeFileSync } from 'node:fs'

process.on('exit', () => writeFileSync(process.env.BENCH_PEAK, String(process.resourceUsage().maxRSS * 1024)))
