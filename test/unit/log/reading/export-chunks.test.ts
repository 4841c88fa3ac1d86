import { expect, test } from 'vitest'
import { LogExportService } from '../../../../src/log/reading/export/service.ts'
import type { LogReader } from '../../../../src/log/reading/log-reader.ts'
import { CellModels } from '../../../../src/log/reading/stored-models.ts'
import type { LoggedRequest } from '../../../../src/log/record/logged-request.ts'
import { card, numeric } from '../../../support/cards/cards.ts'
import { steppingClock } from '../../../support/start/team.ts'

const FEATURES = 1_000
const ROWS = 600
/** A chunk of 256 KiB is full with the row that crosses its end, which has 25 KB here. */
const CHUNK_CHARS_MAX = 320 * 1_024

const spec = card(
  Array.from({ length: FEATURES }, (_, feature) =>
    numeric(`feature_${feature}`, [
      ['(-Infinity, 1]', 3],
      ['(1, Infinity)', 5],
    ]),
  ),
)

/** A batch on a card of a thousand features. */
const request: LoggedRequest = {
  requestId: 'req_1',
  scoredAtMs: 0,
  latencyMs: 1,
  teamId: 'team_1',
  deploymentId: 'dep_1',
  cacheVersion: 1,
  keyId: 'key_1',
  bucket: null,
  reference: null,
  isBatch: true,
  served: 0,
  engineVersion: 1,
  models: [
    {
      modelId: 'mod_1',
      role: 'champion',
      challengerId: null,
      specSha256: '00',
      baselineId: null,
    },
  ],
  rows: Array.from({ length: ROWS }, (_, row) => ({
    id: row,
    results: [
      {
        score: 5,
        pd: null,
        grade: null,
        warningCount: 0,
        cells: Array.from({ length: FEATURES }, (_, feature) => 4 + ((row + feature) % 2)),
      },
    ],
  })),
}

test('a chunk of an export stays small, however many features a card has', async () => {
  const exports = new LogExportService({
    reader: {
      async *scan() {
        yield [request]
      },
    } as unknown as LogReader,
    models: new CellModels({
      modelTexts: async () => [
        { modelId: 'mod_1', name: 'wide', version: '1', specText: JSON.stringify(spec) },
      ],
    }),
    store: { record: async () => undefined },
    clock: steppingClock(),
  })
  const caller = { kind: 'user', userId: 'usr_1', teamId: 'team_1', role: 'owner' } as const
  const chunks: string[] = []
  for await (const chunk of exports.export(caller, {})) chunks.push(String(chunk))
  expect(chunks.join('').split('\n').length).toBe(ROWS + 1)
  expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(CHUNK_CHARS_MAX)
})
