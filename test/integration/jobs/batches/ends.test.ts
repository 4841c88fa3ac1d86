import { parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { DiskRoom } from '../../../../src/jobs/batches/disk-room.ts'
import { BatchFiles } from '../../../../src/jobs/batches/files.ts'
import { BatchCaller } from '../../../support/batches/batches.ts'
import { lastBackend } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

const TEAM_BYTES = 100_000

describe.each([lastBackend])('on $name', (backend) => {
  let service: TestService
  let caller: BatchCaller
  let slug: string

  beforeAll(async () => {
    service = await TestService.start(backend, {
      env: { BATCH_TEAM_MAX_BYTES: String(TEAM_BYTES) },
    })
    const team = await Team.of(service)
    caller = new BatchCaller(service, team.key)
    slug = (await team.deploy(numberedSpec(1))).slug
  })
  afterAll(() => service.close())

  /** How many batches of this process ended so. */
  const ended = async (outcome: string) => {
    const { body } = await service.inject({ method: 'GET', url: '/metrics' })
    const line = `scoreline_jobs_total{kind="batch",outcome="${outcome}"} `
    return Number(
      body
        .split('\n')
        .find((one) => one.startsWith(line))
        ?.slice(line.length),
    )
  }

  // Programs that read tables take a file without a header, or an empty one, for a fault.
  test.each([
    ['no applicant', 'id,income\n', 0],
    ['no applicant without a fault', 'id,income\nA-1\nA-2\n', 2],
  ])('results of a file with %s have a header, and no line', async (_, file, errors) => {
    const csv = await caller.score(slug, file)
    expect(csv).toMatchObject({ status: 'done', counts: { scored: 0, errors, warned: 0 } })
    expect(String(await caller.bytes(csv.id))).toBe(
      'line,id,score,risk_grade,pd,warnings,request_id,record_index\r\n',
    )
    const parquet = await caller.score(slug, file, { query: '&results=parquet' })
    const bytes = new Uint8Array(await caller.bytes(parquet.id))
    expect(await parquetReadObjects({ file: bytes.buffer })).toEqual([])
    expect(await caller.lines(parquet.id, 'errors')).toHaveLength(errors)
  })

  test('an empty body is refused', async () => {
    const response = await caller.send(slug, '')
    expect([response.statusCode, response.json().error]).toEqual([400, 'invalid_request'])
  })

  // Else whoever has sent two files can't tell them apart, and takes the second one for stuck.
  test('a batch that waits says so, not whether another team has one, and each has the name of its file', async () => {
    const gate = Promise.withResolvers<void>()
    const { write } = BatchFiles.prototype
    const writing = vi.spyOn(BatchFiles.prototype, 'write')
    onTestFinished(() => writing.mockRestore())
    writing.mockImplementation(async function (this: BatchFiles, ...part) {
      await gate.promise
      return write.apply(this, part)
    })
    const send = async (name: string, by = caller, to = slug) =>
      (await by.send(to, 'id,income\nA-1,1\n', { query: `&name=${name}` })).json()
    const first = await send('north.csv')
    expect(first).toMatchObject({ status: 'queued', input: { name: 'north.csv', path: null } })
    await expect.poll(async () => (await caller.get(first.id)).status).toBe('running')
    expect(await caller.get(first.id)).not.toHaveProperty('message')
    const others = await Team.of(service)
    const other = new BatchCaller(service, others.key)
    const { id } = await send('south.csv', other, (await others.deploy(numberedSpec(1))).slug)
    expect(await other.get(id)).toMatchObject({
      status: 'queued',
      input: { name: 'south.csv' },
      message: expect.stringMatching(/^it waits for its turn: a process scores one file at a time/),
    })
    gate.resolve()
    for (const [by, one] of [
      [caller, first.id],
      [other, id],
    ] as const) {
      const end = await by.end(one)
      expect(end.status).toBe('done')
      expect(end).not.toHaveProperty('message')
    }
  })

  // Whoever is on duty is woken by what fails, and can do nothing for a team that is full.
  test('metrics say how batches ended, and whose fault it was', async () => {
    const [done, refused, failed] = [
      await ended('done'),
      await ended('refused'),
      await ended('failed'),
    ]
    expect(await caller.score(slug, 'id,income\nA-1,1\n')).toMatchObject({ status: 'done' })
    await expect.poll(() => ended('done')).toBe(done + 1)
    expect(await caller.score(slug, 'nothing\n1\n')).toMatchObject({ error: 'invalid_file' })
    await expect.poll(() => ended('refused')).toBe(refused + 1)
    const rows = `income\n${'1\n'.repeat(TEAM_BYTES / 20)}`
    const full = await caller.score(slug, rows)
    expect(full).toMatchObject({ status: 'failed', error: 'limit_reached' })
    await expect.poll(() => ended('refused')).toBe(refused + 2)
    expect(await ended('failed')).toBe(failed)
    // The order and its body have room, the results have none.
    let left = 2
    const room = vi.spyOn(DiskRoom.prototype, 'has').mockImplementation(async () => left-- > 0)
    onTestFinished(() => room.mockRestore())
    const disk = await caller.score(slug, 'id,income\nA-1,1\n')
    expect(disk).toMatchObject({ status: 'failed', error: 'limit_reached' })
    await expect.poll(() => ended('failed')).toBe(failed + 1)
    expect([await ended('done'), await ended('refused')]).toEqual([done + 1, refused + 2])
  })
})
