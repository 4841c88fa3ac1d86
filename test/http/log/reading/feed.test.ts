import { describe, expect, test } from 'vitest'
import { sampleSpec } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TwoTeams } from '../../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  async function page(after: string, query = '', by = team) {
    const response = await by.call('GET', `/v1/log/export?after=${after}${query}`)
    expect(response.statusCode, response.body).toBe(200)
    const { headers, body } = response
    const rows = body.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)))
    return { rows, next: String(headers['x-next-position']), headers }
  }

  /** All pages from a position, and the last one. */
  async function follow(from: string, query = '', by = team) {
    const rows: Record<string, unknown>[] = []
    const sizes: number[] = []
    for (let after = from; ; ) {
      const { rows: own, next } = await page(after, query, by)
      if (next === after) return { rows, sizes, end: after }
      rows.push(...own)
      sizes.push(own.length)
      after = next
    }
  }

  const exported = async (query: string) => {
    const { body } = await team.call('GET', `/v1/log/export?${query}`)
    return body.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)))
  }

  async function scored(count: number) {
    const { slug } = await team.deploy(sampleSpec())
    for (let n = 0; n < count; n++) await team.score(slug, {})
    await team.scoreBatch(slug, [{ id: 'A' }, { id: 'B' }, { id: 'C' }, { id: 'D' }, { id: 'E' }])
    await statsWith(teams.service, team.owner, slug, count + 5)
    return slug
  }

  test('pages of any size have the rows of the export, each once, and go on with later scores', async () => {
    const slug = await scored(4)
    const whole = await follow('0', `&deployment=${slug}`)
    expect(whole.rows).toHaveLength(9)
    expect(whole.rows).toEqual(expect.arrayContaining(await exported(`deployment=${slug}`)))
    const pages = await follow('0', `&deployment=${slug}&limit=2`)
    expect(pages.rows).toEqual(whole.rows)
    expect(Math.max(...pages.sizes)).toBe(2)

    const later = await scored(1)
    const next = await follow(whole.end)
    expect(next.rows.map(({ deployment_id }) => deployment_id)).toEqual(Array(6).fill(later))
    // Positions are of the log of the team, whatever deployment was asked for.
    expect(await follow(whole.end, `&deployment=${slug}`)).toMatchObject({
      rows: [],
      end: next.end,
    })
  })

  test('a page comes in each format, whole and with where to go on', async () => {
    const slug = await scored(1)
    const { headers, next } = await page('0', `&deployment=${slug}`)
    expect(headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'content-length': expect.stringMatching(/^\d+$/),
      'x-expired-scores': '0',
    })
    const csv = await team.call('GET', `/v1/log/export?after=0&deployment=${slug}&format=csv`)
    expect(csv.headers['x-next-position']).toBe(next)
    expect(csv.body.split('\r\n')).toHaveLength(6 + 2)
    const parquet = await team.call(
      'GET',
      `/v1/log/export?after=0&deployment=${slug}&format=parquet`,
    )
    expect(parquet.headers['x-next-position']).toBe(next)
    expect(parquet.rawPayload.subarray(0, 4).toString()).toBe('PAR1')
    expect(parquet.rawPayload.subarray(-4).toString()).toBe('PAR1')
  })

  test('a team follows its own log alone, and nobody else a position of it', async () => {
    const slug = await scored(1)
    const { end } = await follow('0')
    expect(await follow('0', '', teams.otherTeam)).toMatchObject({ rows: [], end: '0' })
    const { otherTeam } = teams
    const asked = async (query: string, by = team) =>
      findOutcome(await by.call('GET', `/v1/log/export?${query}`))
    expect(await asked(`after=${end}`, otherTeam)).toBe('400 invalid_request')
    expect(await asked(`after=0&deployment=${slug}`, otherTeam)).toBe('404 deployment_not_found')
    for (const query of [
      'after=',
      'after=first',
      `after=${end}0`,
      'after=0&limit=0',
      'after=0&limit=10001',
      'limit=10',
      'after=0&from=2026-01-01T00:00:00Z',
      'after=0&to=2026-01-01T00:00:00Z',
    ]) {
      expect(`${query}: ${await asked(query)}`).toBe(`${query}: 400 invalid_request`)
    }
  })

  test('an erased reference is null at its old position', async () => {
    const { slug } = await team.deploy(sampleSpec())
    await team.scoreBatch(slug, [{ id: 'A-9' }, { id: 'A-10' }])
    await statsWith(teams.service, team.owner, slug, 2)
    const before = await follow('0', `&deployment=${slug}`)
    await team.done('POST', '/v1/log/erasures', { reference: 'A-9' })
    const after = await follow('0', `&deployment=${slug}`)
    expect(after.end).toBe(before.end)
    expect(after.rows).toEqual(
      before.rows.map((row) =>
        row['reference'] === 'A-9' ? { ...row, reference: null, record_id: null } : row,
      ),
    )
  })

  test('the audit log records each page with scores, and none without', async () => {
    const slug = await scored(1)
    const audit = async () => {
      const { records } = await team.done('GET', `/v1/audit-log?subject=${slug}&kind=reads`)
      return records
    }
    const { next } = await page('0', `&deployment=${slug}&limit=10000`)
    await page(next, `&deployment=${slug}`)
    const records = await audit()
    expect(records).toHaveLength(1)
    expect(records[0]).toMatchObject({
      action: 'log.export',
      actor: teams.teamUsers.owner.userId,
      before: null,
      after: { format: 'ndjson', after: '0', next, scores: 6, deployment_id: slug },
    })
  })
})
