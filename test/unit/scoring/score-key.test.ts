import { expect, test } from 'vitest'
import { readRecordV4 } from '../../../src/log/record/record-v4.ts'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { SpecScoring } from '../../support/start/spec-scoring.ts'

test('the key of a single score is in its record, and no other record has one', async () => {
  const scoring = new SpecScoring(card([plainFeature('income')]))
  const key = { keyHash: new Uint8Array(16).fill(1), bodyHash: new Uint8Array(8).fill(2) }
  await scoring.score({ income: 1 }, key)
  await scoring.score({ income: 1 })
  await scoring.scoreBatch([{ id: 1, income: 1 }])
  const keys = scoring.log.records.map(({ payload }) => readRecordV4(payload).key)
  expect(keys).toEqual([
    { keyHash: Buffer.from(key.keyHash), bodyHash: Buffer.from(key.bodyHash) },
    null,
    null,
  ])
})
