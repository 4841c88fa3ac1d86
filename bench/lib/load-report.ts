import type { CheckedAnswers } from './load-check.ts'
import { type LoadFigures, nameStep } from './load-figures.ts'
import type { Sent } from './open-loop.ts'

const BAR_CHARS = 50
const SHOWN = ['p50', 'p90', 'p95', 'p99', 'p99.9', 'p99.99', 'max'] as const
/** A load tester that is this late measures itself. */
const LATE_US = 10_000

/** The line that is shown while a step runs. */
export function progressLine(
  name: string,
  { second, seconds }: { readonly second: number; readonly seconds: number },
  { sent, answers, latencyUs }: Sent,
): string {
  const { 200: answered = 0, ...others } = answers
  const failed = Object.values(others).reduce((total, count) => total + count, 0)
  const p99 = latencyUs.count === 0 ? '–' : shortMs(latencyUs.percentile(99))
  return `${name}  ${second} of ${seconds} s  sent ${sent}  answered ${answered}  failed ${failed}  p99 ${p99} ms`
}

export function printCheck({ applicants, warnings }: CheckedAnswers): void {
  const kinds = Object.entries(warnings)
  console.log(`the first ${applicants} applicants are scored, ${kinds.length} kinds of warnings`)
  for (const [kind, count] of kinds) console.log(`  ${count} × ${kind}`)
}

/** Prints a table of all steps, and of each what was answered, and when. */
export function printFigures(all: readonly LoadFigures[]): void {
  const rows = all.map((figures) => [nameStep(figures), readRow(figures)] as const)
  console.log('\nlatency in ms')
  console.table(Object.fromEntries(rows))
  for (const figures of all) {
    console.log(`\n${nameStep(figures)}`)
    const answers = Object.entries(figures.answers).map(([answer, count]) => `${count} × ${answer}`)
    console.log(`  ${answers.join(', ')}`)
    printHistogram(figures)
    const { lateUs } = figures
    if (lateUs !== null && lateUs.p99 > LATE_US) {
      console.log(
        `  the load tester itself was late, by ${shortMs(lateUs.p99)} ms at p99, which is in these ` +
          'latencies: it needs a machine of its own, or a lower rate',
      )
    }
  }
}

function readRow(figures: LoadFigures): Record<string, number> {
  const { sent, sentPerSecond, failed, failedShare, latencyUs, lateUs } = figures
  const row: Record<string, number> = {
    sent,
    'sent/s': Number(sentPerSecond.toPrecision(4)),
    failed,
    'failed %': Number((100 * failedShare).toPrecision(3)),
  }
  if (latencyUs !== null) {
    for (const name of SHOWN) row[name] = latencyUs[name] / 1_000
  }
  if (lateUs !== null) row['late p99'] = lateUs.p99 / 1_000
  return row
}

function printHistogram({ histogram }: LoadFigures): void {
  const most = Math.max(...histogram.map(({ count }) => count))
  for (const { upToUs, count } of histogram) {
    const bar = '█'.repeat(Math.ceil((BAR_CHARS * count) / most))
    console.log(`  up to ${shortMs(upToUs).padStart(8)} ms ${`${count}`.padStart(9)}  ${bar}`)
  }
}

/** Microseconds as milliseconds, to the microsecond. */
function shortMs(us: number): string {
  return (us / 1_000).toFixed(3)
}
