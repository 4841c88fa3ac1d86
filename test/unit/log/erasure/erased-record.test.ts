import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withoutReferences } from '../../../../src/log/erasure/erased-record.ts'
import { type PayloadModel, recordPayload } from '../../../support/score-log/record-payloads.ts'

const AT = Date.parse('2026-03-04T10:59:30.250Z')
const MODELS: readonly PayloadModel[] = [
  { modelId: 'mod_1', challengerId: null, features: 3, bytesPerCell: 1 },
  { modelId: 'mod_2', challengerId: 'ch_2', features: 2, bytesPerCell: 2 },
]
const makeResult = (features: number) => ({
  score: 612.5,
  pd: 0.1,
  grade: 0,
  warnings: 2,
  cells: Array.from({ length: features }, (_, feature) => feature),
})
const id = fc.oneof(
  fc.constant(null),
  fc.constantFrom<string | number>('A-1', 17, '17', 'x\ud800', '[17,', '"', ''),
  fc.string(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const rows = fc.array(fc.record({ id, isFailed: fc.boolean() }), { maxLength: 8 })
const ofTeam = (erased: readonly string[]) => (teamId: string) =>
  teamId === 'team_1' ? (reference: string) => erased.includes(reference) : null

/** A batch; the challenger failed for some. */
function batch(
  given: readonly { readonly id: string | number | null; readonly isFailed: boolean }[],
  teamId: string,
): Buffer {
  return recordPayload({
    teamId,
    models: MODELS,
    isBatch: true,
    scoredAtMs: AT,
    requestId: 'req_1',
    rows: given.map(({ id: recordId, isFailed }) => ({
      id: recordId,
      results: [makeResult(3), isFailed ? null : makeResult(2)],
    })),
  })
}

describe('a record', () => {
  test('in a batch the record ids with the reference become null, and nothing else changes', () => {
    fc.assert(
      fc.property(rows, fc.constantFrom('team_1', 'team_2'), (given, teamId) => {
        const erased = ['A-1', '17', '', 'x\ud800']
        const isHit = (one: string | number | null) =>
          teamId === 'team_1' && one !== null && erased.includes(String(one))
        const { payload, places } = withoutReferences(batch(given, teamId), ofTeam(erased))
        const expected = given.map((row) => (isHit(row.id) ? { ...row, id: null } : row))
        expect(payload).toEqual(batch(expected, teamId))
        expect(places).toBe(given.filter((row) => isHit(row.id)).length)
      }),
    )
  })

  test('a single request loses its reference alone, and keeps its score key', () => {
    const single = (reference: string, teamId = 'team_1', key: Uint8Array | null = null) =>
      recordPayload({
        teamId,
        models: MODELS,
        scoredAtMs: AT,
        requestId: 'req_1',
        reference,
        key,
        rows: [{ id: null, results: [makeResult(3), null] }],
      })
    const without = (payload: Buffer) => withoutReferences(payload, ofTeam(['A-1']))
    const key = Uint8Array.from({ length: 24 }, (_, n) => n)
    expect(without(single('A-1', 'team_1', key))).toEqual({
      payload: single('', 'team_1', key),
      places: 1,
    })
    expect(without(single('A-1'))).toEqual({ payload: single(''), places: 1 })
    for (const other of [single('A-11'), single(''), single('A-1', 'team_2')]) {
      expect(without(other)).toEqual({ payload: other, places: 0 })
    }
  })
})
