import { createHash } from 'node:crypto'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { nextUp } from '../../../../src/engine/index.ts'
import { BlockEncoder } from '../../../../src/log/blocks/block-encoder.ts'
import { BlockReader } from '../../../../src/log/blocks/block-store.ts'
import type { StoredBlock } from '../../../../src/log/blocks/stored-block.ts'
import { CellModels, StoredModels } from '../../../../src/log/reading/stored-models.ts'
import { MetricRegistry } from '../../../../src/platform/metrics/registry.ts'
import { msToNight, NightlyReplay } from '../../../../src/reports/replay/nightly.ts'
import { addReplayMetrics } from '../../../../src/telemetry/service-metrics.ts'
import { card, numeric } from '../../../support/cards/cards.ts'
import { recordPayload, testModel } from '../../../support/score-log/record-payloads.ts'

const POINTS = 9.5
const SPEC = card([numeric('age', [['(-Infinity, Infinity)', POINTS]])])
const TEXT = JSON.stringify(SPEC)
const NOW_MS = Date.UTC(2026, 10, 22, 2)
const APPLICANTS = 30

/** A block of scores of the card, as the drain stores it. */
function storedBlock(): StoredBlock {
  const specSha256 = createHash('sha256').update(TEXT).digest('hex')
  const model = { ...testModel(SPEC), specSha256 }
  const encoder = new BlockEncoder(new Map([[model.modelId, model.model]]))
  for (let age = 0; age < APPLICANTS; age++) {
    const rows = [{ id: null, results: [model.makeResult({ age })] }]
    encoder.add(recordPayload({ models: [model], rows, scoredAtMs: NOW_MS }))
  }
  const block = encoder.encode()
  if (block === null) throw new Error('nothing was encoded')
  return { ...block, blockId: '1', sources: Buffer.alloc(0), deploymentCount: 1 }
}

/** A night over the block while the database has this text for the card. */
async function night(specText: string, read: () => Promise<readonly StoredBlock[]>) {
  const lines: Record<string, unknown>[] = []
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  const modelTexts = async () => [{ modelId: 'mod_1', name: 'S', version: '1', specText }]
  const nightly = new NightlyReplay({
    samples: { blocksSince: read },
    blocks: new BlockReader({ execute: async () => [] } as never),
    openSource: () =>
      ({
        models: new StoredModels({ modelTexts }),
        cells: new CellModels({ modelTexts }),
      }) as never,
    clock: { epochMs: () => NOW_MS, monotonicMs: () => 0 },
    log: pino({ base: null }, stream),
  })
  await nightly.periodic.runOnce()
  const metrics = new MetricRegistry()
  addReplayMetrics(metrics, nightly)
  const text = await metrics.text()
  const readFigure = (series: string) =>
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1]
  return {
    lines,
    identical: readFigure('scoreline_replayed_results_total{outcome="identical"}'),
    different: readFigure('scoreline_replayed_results_total{outcome="different"}'),
    failed: readFigure('scoreline_replay_failed_nights_total'),
    lastEnd: readFigure('scoreline_replay_last_end_seconds'),
  }
}

test('a quiet night counts what is identical, says when it ended, and logs nothing', async () => {
  expect(await night(TEXT, async () => [storedBlock()])).toEqual({
    lines: [],
    identical: `${APPLICANTS}`,
    different: '0',
    failed: '0',
    lastEnd: `${NOW_MS / 1_000}`,
  })
})

// What an applicant was given is not for a log: the line has no value, only where to look.
test('a changed card is in the metrics, and one line of the log names the first result', async () => {
  const changed = TEXT.replace(String(POINTS), String(nextUp(POINTS)))
  const found = await night(changed, async () => [storedBlock()])
  expect(found).toMatchObject({ identical: '0', different: `${APPLICANTS}`, failed: '0' })
  expect(found.lines).toEqual([
    {
      level: 50,
      time: expect.any(Number),
      requestId: expect.stringMatching(/^req_/),
      recordIndex: 0,
      modelId: 'mod_1',
      field: 'spec_sha256',
      count: APPLICANTS,
      msg: 'the replay of logged scores gave other results',
    },
  ])
})

test('a night that cannot read the log is counted and logged, and ends nothing', async () => {
  const found = await night(TEXT, () => Promise.reject(new TypeError('away')))
  expect(found).toMatchObject({ identical: '0', different: '0', failed: '1', lastEnd: '0' })
  expect(found.lines).toMatchObject([
    { level: 50, err: { name: 'TypeError' }, msg: expect.stringContaining('will run again') },
  ])
})

test('the next night is at 2 o clock of UTC', () => {
  const at = (hour: number, minute = 0) => Date.UTC(2026, 0, 31, hour, minute)
  expect(msToNight(at(1, 30))).toBe(30 * 60_000)
  expect(msToNight(at(2))).toBe(24 * 3_600_000)
  expect(msToNight(at(23))).toBe(3 * 3_600_000)
})
