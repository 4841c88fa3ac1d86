import type { StoredResult } from './results.ts'
import { digits, field, measuredIn, middle, type Rows, ratioToFirst, seriesIn } from './tables.ts'

/** What is asked of a long log, and the fields that tell: a label, and what stands behind it. */
const ASKED = [
  {
    scenario: 'archive',
    series: 'archive',
    name: 'a day in a directory',
    label: 'a day goes to the archive',
    seen: [
      ['', 'archiveSeconds', ' s'],
      ['', 'bytesAScore', ' bytes a score'],
      ['', 'rssPeakMiB', ' MiB at the peak'],
    ],
  },
  {
    scenario: 'archive',
    series: 'archive',
    name: 'a day in a directory',
    label: 'one score from the archive',
    seen: [
      ['p50 ', 'findP50Ms', ' ms'],
      ['p99 ', 'findP99Ms', ' ms'],
    ],
  },
  {
    scenario: 'replay',
    series: 'replay of every result',
    name: 'replay',
    label: 'every score is recomputed',
    seen: [
      ['', 'seconds', ' s'],
      ['', 'scoresPerSecond', ' scores/s'],
    ],
  },
  ...[
    'stability of 20 features',
    'cut-offs',
    'swap set, same cut-off',
    'migration',
    'all reports at once',
  ].map((name) => ({
    scenario: 'monitoring',
    series: 'reports',
    name,
    label: name,
    seen: [
      ['p50 ', 'p50Ms', ' ms'],
      ['p99 ', 'p99Ms', ' ms'],
    ],
  })),
  {
    scenario: 'monitoring',
    series: 'beside',
    name: '10 consoles',
    label: 'single scores, alone and beside ten consoles that ask for reports',
    seen: [
      ['', 'aloneScoresPerSec', '/s'],
      ['', 'besideScoresPerSec', '/s'],
      ['p99 ', 'aloneP99Ms', ' ms'],
      ['and ', 'besideP99Ms', ' ms'],
    ],
  },
  {
    scenario: 'outcomes',
    series: 'a file of outcomes',
    name: 'ndjson',
    label: 'outcomes as a file',
    seen: [
      ['', 'seconds', ' s'],
      ['', 'outcomesPerSecond', ' outcomes/s'],
    ],
  },
  {
    scenario: 'outcomes',
    series: 'a file of outcomes',
    name: 'ndjson',
    label: 'report of performance on them',
    seen: [
      ['', 'reportSeconds', ' s'],
      ['', 'peakReportMiB', ' MiB at the peak'],
    ],
  },
] as const

/** What a long log costs those who read it. */
export function longLog(...used: StoredResult[]): Rows {
  const rows = ASKED.flatMap(({ scenario, series, name, label, seen }) => {
    const stored = used.find(({ result }) => result.scenario === scenario)
    if (stored === undefined) return []
    // Older results lack some reports and figures.
    const one = seriesIn(stored, series).measured.find((measured) => measured.name === name)
    if (one === undefined) return []
    const { scores } = stored.result.payload as { readonly scores: number }
    const texts = seen
      .filter(([, of]) => one.rounds.every((round) => of in round))
      .map(([before, of, after]) => `${before}${digits(middle(one, field(of)))}${after}`)
    return [[label, digits(scores, 9), texts.join(', ')]]
  })
  return [['', 'scores in the log', 'seen'], ...rows]
}

/** Files of applicants, in each form that has a result. */
export function batchFiles(batches?: StoredResult): Rows {
  if (batches === undefined) throw new Error('a result is missing')
  const { measured } = seriesIn(batches, 'a file of applicants')
  const rows = measured
    .filter(({ rounds }) => rounds.length > 0)
    .map((one) => {
      const of = (name: string) => digits(middle(one, field(name)))
      return [
        one.name,
        of('fileMiB'),
        of('seconds'),
        of('applicantsPerSecond'),
        of('serviceCpuSeconds'),
        of('peakMiB'),
        `${of('quietP99Ms')} and ${of('besideP99Ms')}`,
      ]
    })
  const heads = ['MiB', 'seconds', 'applicants/s', 'processor, s', 'MiB of memory']
  return [
    ['A million applicants as', ...heads, 'p99 of single scores without and beside, ms'],
    ...rows,
  ]
}

const CONTESTS = [
  'on, no header',
  'off, header',
  'on, 1 percent sampled',
  'on, all sampled',
] as const

/** Tracing against none. */
export function tracing(stored?: StoredResult): Rows {
  if (stored === undefined) throw new Error('a result is missing')
  const series = seriesIn(stored, 'tracing')
  const rows = CONTESTS.map((name) => {
    const one = measuredIn(series, name)
    return [
      name,
      String(one.rounds.length),
      digits(middle(one, field('requestsPerSec'))),
      ratioToFirst(series, one, field('requestsPerSec')),
      ratioToFirst(series, one, field('cpuUs')),
      ratioToFirst(series, one, field('p99Ms')),
    ]
  })
  const heads = ['rounds', 'requests/s', 'throughput', 'processor time', 'p99']
  return [['Against tracing off', ...heads], ...rows]
}

/** One team's heaviest work beside another team's single scores. */
export function neighbours(result: StoredResult): Rows {
  const rows = seriesIn(result, 'neighbours').measured.map((step) => {
    const seen = (name: string) => digits(middle(step, field(name)))
    const seconds = digits(middle(step, field('stepMs')) / 1_000)
    const beside = ['quietP99Ms', 'p50Ms', 'p99Ms', 'maxMs', 'turnMs', 'grownMb', 'stepMb'].map(
      seen,
    )
    return [step.name, seconds, ...beside]
  })
  const head = [
    'Step',
    's',
    'quiet p99, ms',
    'p50',
    'p99',
    'max',
    'longest turn',
    'grown MB',
    'by this step',
  ]
  return [head, ...rows]
}
