import type { Applicant } from '../../src/engine/index.ts'
import {
  FIXED_FACTS_BYTES,
  HEAD_AT,
  LATENCY_AT,
  SCORED_AT,
} from '../../src/log/record/record-v4.ts'
import { newId } from '../../src/platform/ids.ts'
import { recordPayload, type TestModel } from '../../test/support/score-log/record-payloads.ts'
import { type Card, makeApplicants } from './card.ts'

/**
 * Applicants whose bins are random: every bin of every feature is as likely as the others, which
 * compresses worse than any portfolio. The generator of `makeApplicants` repeats itself after few
 * thousand draws, which would compress far better.
 *
 * @source mulberry32, Tommy Ettinger, public domain
 */
export function randomApplicants(card: Card, count: number): Applicant[] {
  const samples = makeApplicants(card, 400)
  const names = Object.keys(samples[0] ?? {})
  let state = 20_261_122
  const random = (below: number) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (((mixed ^ (mixed >>> 14)) >>> 0) * below) / 2 ** 32
  }
  return Array.from({ length: count }, () => {
    const values = names.map((name) => [name, samples[Math.floor(random(400))]?.[name] ?? 0])
    return Object.fromEntries(values)
  })
}

/** Whose scores are logged. */
export interface LoggedAs {
  readonly teamId?: string
  readonly deploymentId?: string
  readonly keyId?: string
  /** Scores the same applicants beside the model. */
  readonly challenger?: TestModel
  /** Whether each record has a reference of its own. */
  readonly withReferences?: boolean
}

const REFERENCE_DIGITS = 12

/**
 * Makes records of single scores as scoring writes them: real results of real applicants, each with
 * a request id and latency of its own.
 */
export class ScoreRecords {
  private readonly templates: readonly Buffer[]
  private readonly withReferences: boolean
  private made = 0

  constructor(model: TestModel, applicants: readonly Applicant[], as: LoggedAs = {}) {
    const { challenger, withReferences = false, ...names } = as
    this.withReferences = withReferences
    const models = challenger === undefined ? [model] : [model, challenger]
    this.templates = applicants.map((applicant) =>
      recordPayload({
        teamId: 'team_0VbcS4T982wOdiA3oiOZvU',
        deploymentId: 'dep_0VbcS4T982wOdiA3oiOZvU',
        keyId: 'key_0VbcS4T982wOdiA3oiOZvU',
        ...names,
        models,
        ...(withReferences && { reference: '0'.repeat(REFERENCE_DIGITS) }),
        rows: [{ id: null, results: models.map((one) => one.makeResult(applicant)) }],
      }),
    )
  }

  /** A record of its own memory. */
  single(scoredAtMs: number): { readonly payload: Buffer; readonly requestId: string } {
    const number = this.made++
    const template = this.templates[(number * 7_919) % this.templates.length] ?? Buffer.alloc(0)
    const payload = Buffer.from(template)
    const factsAt = HEAD_AT + payload.readUInt16LE(1)
    payload.writeDoubleLE(scoredAtMs, factsAt + SCORED_AT)
    payload.writeUInt32LE(40 + ((number * 2_654_435_761) % 211), factsAt + LATENCY_AT)
    const requestId = newId('req_', scoredAtMs)
    const idAt = factsAt + FIXED_FACTS_BYTES
    payload.write(requestId, idAt + 1, 'latin1')
    if (this.withReferences) {
      const keyAt = idAt + 1 + payload.readUInt8(idAt)
      const referenceAt = keyAt + 1 + payload.readUInt8(keyAt)
      payload.write(`${number}`.padStart(REFERENCE_DIGITS, '0'), referenceAt + 1, 'latin1')
    }
    return { payload, requestId }
  }
}

/** A record of a batch of these applicants. */
export function batchRecord(
  model: TestModel,
  applicants: readonly Applicant[],
  scoredAtMs: number,
): Buffer {
  const rows = applicants.map((applicant, index) => ({
    id: `application ${index}`,
    results: [model.makeResult(applicant)],
  }))
  return recordPayload({ models: [model], rows, scoredAtMs, isBatch: true })
}
