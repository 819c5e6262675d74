/** Prometheus' text format (0.0.4), read strictly: what is no line of it throws. */

export interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

export interface Family {
  name: string
  type: string
  samples: Sample[]
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"'
const HELP = new RegExp(`^# HELP (${NAME}) (.*)$`)
const TYPE = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram|summary|untyped)$`)
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (\\S+)$`)
const NUMBER = /^(?:[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|[-+]?inf|nan)$/i

export function parsed(text: string): Family[] {
  if (!text.endsWith('\n')) throw new Error('the text does not end with a line feed')
  const families: Family[] = []
  for (const line of text.split('\n')) {
    const type = TYPE.exec(line)
    if (line === '' || HELP.test(line)) continue
    if (type !== null) families.push({ name: type[1]!, type: type[2]!, samples: [] })
    else families.at(-1)!.samples.push(sampleOf(line, families.at(-1)!))
  }
  return families
}

/** The one sample of a name that has just these labels. */
export function numberOf(families: readonly Family[], name: string, labels: Record<string, string> = {}): number {
  const found = families
    .flatMap(({ samples }) => samples)
    .filter(sample => sample.name === name && same(sample.labels, labels))
  if (found.length !== 1) throw new Error(`${found.length} samples of ${name} ${JSON.stringify(labels)}`)
  return found[0]!.value
}

function sampleOf(line: string, { name: family, type }: Family): Sample {
  const match = SAMPLE.exec(line)
  if (match === null || !NUMBER.test(match[3]!)) throw new Error(`no line of the format: ${line}`)
  const [, name = '', labels = '', value = ''] = match
  const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
  if (!suffixes.some(suffix => name === family + suffix)) throw new Error(`${name} stands under ${family}`)
  const pairs = [...labels.matchAll(/([^=,]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text])
  const number = /inf/i.test(value)
    ? value.startsWith('-')
      ? -Infinity
      : Infinity
    : Number(value.replace(/nan/i, 'NaN'))
  return { name, labels: Object.fromEntries(pairs), value: number }
}

function same(a: Record<string, string>, b: Record<string, string>): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every(name => a[name] === b[name])
}
