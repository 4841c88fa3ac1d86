/**
 * What the engine itself costs, in process: no HTTP, no database.
 *
 * Cases alternate within each round, so that a noisy machine hits all of them; the table shows the
 * median of the rounds and the spread from the 5th to the 95th percentile.
 */

import {
  checkSpec,
  compileModel,
  finishSteps,
  ModelScore,
  scoreApplicant,
} from '../../src/engine/index.ts'
import { Utf8Writer } from '../../src/platform/bytes/utf8-writer.ts'
import { ResponseParts } from '../../src/scoring/response.ts'
import { percentile } from '../../test/support/load/percentile.ts'
import { type Applicant, CARD, type Card, makeApplicants, makeSpec } from '../lib/card.ts'
import { type Measured, storeResult } from '../lib/results.ts'

const APPLICANTS = 200
const ROUNDS = 400
const WARM_UP_ROUNDS = 100
const FORM = { withContributions: true, withReasons: false }
/** Each result of a batch. */
const FRAME = {
  isFirst: true,
  idText: 'null',
  withContributions: true,
  furtherText: '',
  reasons: null,
}

interface Case {
  readonly name: string
  /** Does the work for applicant `index`; the number keeps it from being optimised away. */
  readonly run: (index: number) => number
  readonly nsPerApplicant: number[]
}

function measure(cases: readonly Case[]): void {
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const { run, nsPerApplicant } of cases) {
      const started = process.hrtime.bigint()
      let sum = 0
      for (let index = 0; index < APPLICANTS; index++) sum += run(index)
      const tookNs = Number(process.hrtime.bigint() - started)
      if (round >= 0 && sum !== 0) nsPerApplicant.push(tookNs / APPLICANTS)
    }
  }
}

function compiled(card: Card) {
  const check = checkSpec(makeSpec(card))
  if (!check.ok) throw new Error(JSON.stringify(check.faults))
  return { spec: check.spec, model: compileModel(check.spec) }
}

function scoringCase(name: string, card: Card): Case {
  const modelScore = new ModelScore(compiled(card).model)
  const applicants = makeApplicants(card, APPLICANTS)
  const run = (index: number) => {
    scoreApplicant(applicants[index] ?? {}, modelScore)
    return modelScore.score + modelScore.pd
  }
  return { name, run, nsPerApplicant: [] }
}

function main(): void {
  const { spec, model } = compiled(CARD)
  const modelScore = new ModelScore(model)
  const answer = finishSteps(ResponseParts.make(model))
  let into = new Utf8Writer(Buffer.allocUnsafe(answer.batchBytes(APPLICANTS, FORM)))
  const applicants = makeApplicants(CARD, APPLICANTS)
  const texts = applicants.map((applicant) => JSON.stringify(applicant))
  const parse = (index: number): Applicant => JSON.parse(texts[index] ?? '{}')
  const cases: Case[] = [
    {
      name: 'JSON.parse of the applicant',
      run: (index) => (parse(index) ? 1 : 0),
      nsPerApplicant: [],
    },
    scoringCase('score, pd, grade, bin and points of each feature', CARD),
    {
      name: '… of an applicant parsed just before, parsing included',
      run: (index) => {
        scoreApplicant(parse(index), modelScore)
        return modelScore.score
      },
      nsPerApplicant: [],
    },
    {
      name: '… and written as JSON with contributions',
      run: (index) => {
        const applicant = applicants[index] ?? {}
        scoreApplicant(applicant, modelScore)
        // As a batch does: one for all.
        if (index === 0) into = new Utf8Writer(into.memory)
        answer.record(into, modelScore, applicant, FRAME)
        return into.length
      },
      nsPerApplicant: [],
    },
    scoringCase('score: categories of up to 10 characters', { ...CARD, categoryChars: 6 }),
    scoringCase('score: all features numeric', { ...CARD, numericEvery: 1 }),
    scoringCase('score: 40 features', { ...CARD, features: 2 * CARD.features }),
    scoringCase('score: 64 bins', { ...CARD, bins: 8 * CARD.bins }),
  ]
  measure(cases)
  // At the end: what V8 learns of applicants that it lays out otherwise, it doesn't forget.
  const last = scoringCase('score after applicants with 200 keys and numbers for keys', CARD)
  for (const keys of [Array.from({ length: 200 }, (_, n) => `key ${n}`), ['1', '2']]) {
    const text = JSON.stringify(Object.fromEntries(keys.map((key) => [key, 1])))
    for (let time = 0; time < WARM_UP_ROUNDS; time++) scoreApplicant(JSON.parse(text), modelScore)
  }
  measure([last])
  // Apart from the others: what it allocates would push their applicants out of the processor's
  // caches.
  const compiling = { name: 'compiling the card', run: () => compileModel(spec).points.length }
  const alone: Case = { ...compiling, nsPerApplicant: [] }
  measure([alone])
  console.log(
    `Node ${process.version}; ${CARD.features} features × ${CARD.bins} bins, half of each type`,
  )
  console.log(
    `${ROUNDS} rounds of ${APPLICANTS} applicants, cases in turn; µs for each applicant\n`,
  )
  console.log(`${'case'.padEnd(58)}${'median'.padStart(9)}${'p5'.padStart(9)}${'p95'.padStart(9)}`)
  for (const { name, nsPerApplicant } of [...cases, last, alone]) {
    const columns = [0.5, 0.05, 0.95].map((share) =>
      (percentile(nsPerApplicant, share) / 1000).toFixed(3).padStart(9),
    )
    console.log(name.padEnd(58) + columns.join(''))
  }
  storeResult('engine', { card: CARD, applicants: APPLICANTS, warmUpRounds: WARM_UP_ROUNDS }, [
    { name: 'engine', measured: [...cases, last, alone].map(readMeasured) },
  ])
}

function readMeasured({ name, nsPerApplicant }: Case): Measured {
  return { name, rounds: nsPerApplicant.map((ns) => ({ ns: Math.round(10 * ns) / 10 })) }
}

main()
