/**
 * The side of a peer program that is the same for all that run on Node: it reads orders as lines of
 * JSON on its standard input and answers each with one line; see bench/peers/README.md.
 */
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Applicant } from './card.ts'

/** Result of a peer for one applicant, with the parts that the peer can compute. */
export interface PeerResult {
  readonly score: number
  readonly pd?: number
  readonly grade?: string | null
  /** Points of each feature, in the order of the spec. */
  readonly points?: readonly number[]
}

/** Scores applicants one after the other, or so many together where that is faster. */
interface PeerScorer {
  result(applicant: Applicant): PeerResult | Promise<PeerResult>
  /** Scores the applicants from `from` on, `count` of them, over and over the list. */
  run(applicants: readonly Applicant[], from: number, count: number): Promise<void> | void
}

/** Reading the clock shall not count. */
const CHUNK_MS = 1

/**
 * Serves orders until the standard input ends. Arguments of the program: the spec, the applicants.
 */
export async function servePeer(open: (spec: unknown) => PeerScorer): Promise<void> {
  const [specFile = '', applicantsFile = ''] = process.argv.slice(2)
  const scorer = open(JSON.parse(readFileSync(specFile, 'utf8')))
  const applicants: Applicant[] = JSON.parse(readFileSync(applicantsFile, 'utf8'))
  await scorer.run(applicants, 0, 1)
  send({ ready: true })
  for await (const line of createInterface({ input: process.stdin })) {
    const order: { do: string; ms?: number } = JSON.parse(line)
    if (order.do === 'results') {
      const results: PeerResult[] = []
      for (const applicant of applicants) results.push(await scorer.result(applicant))
      send({ results })
    } else if (order.do === 'run') send(await runFor(order.ms ?? 0, scorer, applicants))
    else throw new Error(`no order is called ${order.do}`)
  }
}

async function runFor(ms: number, scorer: PeerScorer, applicants: readonly Applicant[]) {
  const start = performance.now()
  let [now, scored, chunk] = [start, 0, 1]
  while (now - start < ms) {
    await scorer.run(applicants, scored % applicants.length, chunk)
    scored += chunk
    const then = performance.now()
    if (then - now < CHUNK_MS) chunk *= 2
    now = then
  }
  return { applicants: scored, ms: now - start }
}

function send(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}
