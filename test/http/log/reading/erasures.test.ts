import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hashOfReference } from '../../../../src/log/erasure/erasure-list.ts'
import { sampleSpec } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TwoTeams } from '../../../support/start/team.ts'

/** An erasure reaches so far past its own time, because clocks of replicas differ. */
const CLOCKS_MS = 2_000

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  async function score(to: string, reference: string, of = team): Promise<string> {
    const response = await of.service.call({
      method: 'POST',
      url: `/v1/score/${to}`,
      token: of.key,
      body: {},
      headers: { 'x-reference-id': reference },
    })
    expect(response.statusCode, response.body).toBe(200)
    return response.json().request_id
  }
  const erase = (reference: string, by = team) => by.done('POST', '/v1/log/erasures', { reference })
  const read = (requestId: string, by = team) => by.done('GET', `/v1/scores/${requestId}`)
  const found = async (reference: string, by = team) =>
    (await by.done('GET', `/v1/scores?reference=${encodeURIComponent(reference)}`)).scores
  /** The summary of the stats, once they count so many results. */
  const drained = async (slug: string, total: number) =>
    (await statsWith(teams.service, team.owner, slug, total)).summary
  const deploy = async (by = team) => (await by.deploy(sampleSpec())).slug

  // A lender must be able to forget an application, and still to prove every figure.
  test('an erased reference is null in single scores and batches, and all else stays', async () => {
    const slug = await deploy()
    const single = await score(slug, 'A-1')
    const other = await score(slug, 'A-11')
    const records = [{ id: 'A-1' }, { id: 'B-2' }, { id: 'A-1' }]
    const { request_id: batch } = await team.scoreBatch(slug, records)
    const figures = await drained(slug, 5)
    const before = { single: await read(single), batch: await read(batch) }
    expect((await found('A-1')).length).toBe(3)

    const erasure = await erase('A-1')
    const teamId = teams.teamUsers.owner.teamId
    const reference_sha256 = hashOfReference(teamId, 'A-1')
    expect(erasure).toMatchObject({ reference_sha256, places: 3, requests: 2 })
    expect(await found('A-1')).toEqual([])
    expect(await read(single)).toEqual({ ...before.single, reference: null })
    const ids = [null, 'B-2', null]
    expect(await read(batch)).toEqual({
      ...before.batch,
      records: before.batch.records.map((record: object, n: number) => ({ ...record, id: ids[n] })),
    })
    expect((await read(other)).reference).toBe('A-11')
    expect((await found('B-2')).length).toBe(1)
    expect(await drained(slug, 5)).toEqual(figures)

    // The second time there is nothing, and it harms nothing.
    expect(await erase('A-1')).toMatchObject({ places: 0, requests: 0 })
    const audit = (await team.done('GET', '/v1/audit-log?limit=20')).records
      .filter(({ action }: { action: string }) => action === 'log.erase')
      .slice(0, 2)
    expect(
      audit.map(({ action, after }: { action: string; after: object }) => [action, after]),
    ).toEqual([
      ['log.erase', { reference_sha256, places: 0, requests: 0, is_complete: true }],
      ['log.erase', { reference_sha256, places: 3, requests: 2, is_complete: true }],
    ])
    expect(JSON.stringify(audit)).not.toContain('A-1"')
  })

  test('the same reference of another team stays', async () => {
    const own = await deploy(teams.otherTeam)
    const theirs = await score(own, 'shared', teams.otherTeam)
    await statsWith(teams.service, teams.otherTeam.owner, own, 1)
    expect(await erase('shared')).toMatchObject({ places: 0 })
    expect((await read(theirs, teams.otherTeam)).reference).toBe('shared')
    expect((await found('shared', teams.otherTeam)).length).toBe(1)
  })

  // Those in flight and those that wait in the spool would bring the reference back.
  test('while scoring goes on, no request from before an erasure keeps the reference', async () => {
    const slug = await deploy()
    const ids: string[] = []
    let isOver = false
    const scoring = (async () => {
      while (!isOver) ids.push(await score(slug, 'A-3'))
    })()
    await expect.poll(() => ids.length).toBeGreaterThan(20)
    for (let round = 0; round < 5; round++) await erase('A-3')
    isOver = true
    await scoring
    await erase('A-3')
    await drained(slug, ids.length)
    expect(await found('A-3')).toEqual([])
    for (const id of [ids[0], ids.at(-1)]) expect((await read(id ?? '')).reference).toBe(null)

    // A later application can have the number again.
    await delay(CLOCKS_MS + 10)
    const later = await score(slug, 'A-3')
    expect((await read(later)).reference).toBe('A-3')
    await drained(slug, 1 + ids.length)
    expect((await read(later)).reference).toBe('A-3')
  })

  test.each([
    [{}, /reference/],
    [{ reference: '' }, /reference/],
    [{ reference: 7 }, /reference/],
    [{ reference: 'A-1', deployment: 'dep_1' }, /deployment/],
  ])('an erasure with the body %j is refused', async (body, reason) => {
    const response = await team.call('POST', '/v1/log/erasures', body)
    expect(findOutcome(response)).toBe('400 invalid_request')
    expect(response.body).toMatch(reason)
  })

  test('what waits in the spool is read without the reference', async () => {
    const apart = await TwoTeams.start(backend)
    onTestFinished(() => apart.service.close())
    const own = await deploy(apart.team)
    await apart.service.services.drain.close(0)
    const single = await score(own, 'A-4', apart.team)
    const records = [{ id: 'A-4' }, { id: 5 }]
    const { request_id: batch } = await apart.team.scoreBatch(own, records)
    expect((await read(single, apart.team)).reference).toBe('A-4')
    expect(await erase('A-4', apart.team)).toMatchObject({ places: 0 })
    expect((await read(single, apart.team)).reference).toBe(null)
    const ids = (await read(batch, apart.team)).records.map(({ id }: { id: unknown }) => id)
    expect(ids).toEqual([null, 5])
  })
})
