import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SpoolTail } from '../../../src/log/reading/spool-tail.ts'
import { FRAME_HEADER_BYTES, sealFrame } from '../../../src/log/spool/frames.ts'
import type { SegmentRange } from '../../../src/log/spool/reader.ts'
import { newId } from '../../../src/platform/ids.ts'
import { recordPayload } from '../../support/score-log/record-payloads.ts'

const MODEL = { modelId: 'mod_1', challengerId: null, features: 1, bytesPerCell: 1 } as const
const RESULT = { score: 1, pd: Number.NaN, grade: 0xffff_ffff, warnings: 0, cells: [4] }
const NOW = Date.parse('2026-11-22T10:00:00Z')
const [TEAM, DEPLOYMENT] = ['team_1', 'dep_1']
const HOUR_MS = 3_600_000

let directory: string
let ranges: SegmentRange[]

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'scoreline-tail-'))
  ranges = []
})
afterEach(() => rmSync(directory, { recursive: true }))

const tail = () =>
  new SpoolTail(
    { undrained: () => ranges },
    { compiled: async () => new Map() },
    async (payload) => payload,
  )

interface Logged {
  readonly id: string
  readonly atMs: number
  /** A record id, which makes it a batch. */
  readonly recordId?: string
}

/** A segment with these records, and bytes that are drained before them. */
function segment({ id, atMs }: { id: number; atMs: number }, records: readonly Logged[]): void {
  const frames = records.map((record) => {
    const payload = recordPayload({
      teamId: TEAM,
      deploymentId: DEPLOYMENT,
      models: [MODEL],
      requestId: record.id,
      scoredAtMs: record.atMs,
      rows: [{ id: record.recordId ?? null, results: [RESULT] }],
      isBatch: record.recordId !== undefined,
    })
    const frame = Buffer.concat([Buffer.alloc(FRAME_HEADER_BYTES), payload])
    sealFrame(frame, 0, frame.length)
    return frame
  })
  const drained = Buffer.alloc(atMs % 100)
  const bytes = Buffer.concat([drained, ...frames])
  const path = join(directory, `${id}.seg`)
  writeFileSync(path, bytes)
  ranges.push({
    directory: 'spool',
    spoolId: 'spool',
    from: { segment: id, offset: drained.length },
    segment: id,
    path,
    offset: drained.length,
    readableBytes: bytes.length,
  })
}

const read = async (id: string, idMs: number) => (await tail().find(id, idMs))?.read()

const logged = (atMs: number): Logged => ({ id: newId('req_', atMs), atMs })

// Up to gigabytes wait while the database is away; what was answered must still be found.
test('a record is found in the segment of its time, and no other is taken for it', async () => {
  const hours = [0, 1, 2].map((hour) => NOW + hour * HOUR_MS)
  const records = hours.map((atMs) => [logged(atMs), logged(atMs + 5_000), logged(atMs + 9_000)])
  for (const [index, part] of records.entries()) {
    segment({ id: index + 1, atMs: hours[index] ?? 0 }, part)
  }
  for (const { id, atMs } of records.flat()) {
    expect((await read(id, atMs))?.requestId).toBe(id)
  }
  expect(await tail().find(newId('req_', NOW), NOW)).toBeNull()
})

// Many clients ask again for what was under way when their connections broke.
test('requests that are looked for together are found in one search', async () => {
  const records = Array.from({ length: 12 }, (_, index) => logged(NOW + index))
  segment({ id: 1, atMs: NOW }, records.slice(0, 6))
  segment({ id: 2, atMs: NOW + 6 }, records.slice(6))
  let searches = 0
  const undrained = () => {
    searches++
    return ranges
  }
  const models = { compiled: async () => new Map() }
  const shared = new SpoolTail({ undrained }, models, async (payload) => payload)
  const wanted = [...records.toReversed(), logged(NOW)]
  const found = await Promise.all(wanted.map(({ id, atMs }) => shared.find(id, atMs)))
  const ids = await Promise.all(found.map(async (one) => (await one?.read())?.requestId))
  expect(ids).toEqual([...records.toReversed().map(({ id }) => id), undefined])
  // Each asks once whether anything waits.
  expect(searches - wanted.length).toBe(1)
})

test('a batch that contains the id as the id of a record is another request', async () => {
  const { id } = logged(NOW)
  segment({ id: 1, atMs: NOW }, [{ ...logged(NOW), recordId: id }])
  expect(await tail().find(id, NOW)).toBeNull()
})

test('a record behind one that is larger than a part of a file is found', async () => {
  const wanted = logged(NOW + 1)
  segment({ id: 1, atMs: NOW }, [{ ...logged(NOW), recordId: 'x'.repeat(2_000_000) }, wanted])
  expect((await read(wanted.id, wanted.atMs))?.rows).toEqual([
    { id: null, results: [expect.objectContaining({ score: 1, cells: [4] })] },
  ])
})

test('a segment that the drain has removed holds nothing', async () => {
  const wanted = logged(NOW)
  segment({ id: 1, atMs: NOW }, [wanted])
  rmSync(join(directory, '1.seg'))
  expect(await tail().find(wanted.id, NOW)).toBeNull()
})

describe('references that wait', () => {
  const listIds = async (teamId: string, deploymentId: string, reference: string) => {
    const wanted = new Map([[deploymentId, new Set([reference])]])
    return (await tail().waiting(teamId, wanted)).map(({ requestId }) => requestId)
  }

  test('are found in the requests of the deployment alone', async () => {
    const batch = { ...logged(NOW), recordId: 'A-1' }
    segment({ id: 1, atMs: NOW }, [logged(NOW), batch])
    segment({ id: 2, atMs: NOW + 1 }, [{ ...logged(NOW + 1), recordId: 'A-2' }])
    expect(await listIds(TEAM, DEPLOYMENT, 'A-1')).toEqual([batch.id])
    expect(await listIds(TEAM, 'dep_2', 'A-1')).toEqual([])
    expect(await listIds('team_2', DEPLOYMENT, 'A-1')).toEqual([])
  })

  // A request must not read gigabytes, and an earlier score must not get the outcome.
  test('are not looked for where more than 64 MiB wait', async () => {
    segment({ id: 1, atMs: NOW }, [logged(NOW)])
    ranges = ranges.map((range) => ({ ...range, readableBytes: 65 * 1024 * 1024 }))
    await expect(listIds(TEAM, DEPLOYMENT, 'A-1')).rejects.toMatchObject({ code: 'unavailable' })
  })
})
