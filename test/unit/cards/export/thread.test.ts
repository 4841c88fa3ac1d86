import { expect, test } from 'vitest'
import { ExportThread } from '../../../../src/cards/export/thread.ts'
import { card, plainFeature } from '../../../support/cards/cards.ts'

const FEATURES = Array.from({ length: 1000 }, (_, at) => plainFeature(`feature ${at}`))
const SPEC = JSON.stringify(card(FEATURES))

// The service has no fault, and would page whoever runs it for each such card.
test.each([
  ['memory', { memoryMb: 8, deadlineMs: 60_000 }],
  ['time', { memoryMb: 2048, deadlineMs: 1 }],
])('a card that takes too much %s is refused, not the service in fault', async (_, bounds) => {
  const thread = new ExportThread(bounds)
  await expect(thread.run(SPEC, { format: 'pmml' }, null)).rejects.toMatchObject({
    code: 'not_exportable',
    message: expect.stringContaining('writing this card in the wanted language takes'),
  })
  const roomy = new ExportThread()
  expect(String(await roomy.run(SPEC, { format: 'pmml' }, null))).toContain('<Scorecard')
})
