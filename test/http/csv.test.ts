import { describe, expect, test } from 'vitest'
import { writeCsv } from '../../src/console/app/ui/csv-text.ts'
import { BatchCaller } from '../support/batches/batches.ts'
import { statsWith } from '../support/expect/stats.ts'
import { lastBackend } from '../support/start/databases.ts'
import { TestService } from '../support/start/service.ts'
import { numberedSpec, Team } from '../support/start/team.ts'

/** What a spreadsheet would compute, and what it shows as it is. */
const TEXTS: readonly (readonly [text: string, cell: string])[] = [
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', `"'\r=1"`],
  ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
  ['a,b', '"a,b"'],
  ['1+1', '1+1'],
]
/** Names have no control characters. */
const NAMES = TEXTS.filter(([text]) => !/[\t\r]/.test(text))
const MIN_INCOME = -5

type Csv = (names: readonly string[]) => Promise<string>

describe.each([lastBackend])('every CSV on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  /** A deployment whose scores are below 0. */
  const deploy = async () => (await team.deploy(numberedSpec(MIN_INCOME))).slug
  const get = async (url: string, accept?: string) => {
    const headers = accept === undefined ? {} : { accept }
    const answer = await service.call({ method: 'GET', url, token: team.owner, headers })
    expect(answer.headers['content-type']).toMatch(/^text\/csv/)
    return answer.body
  }

  /** By the operation that answers with it. */
  const CSVS: Readonly<Record<string, Csv>> = {
    'log.export': async (names) => {
      const slug = await deploy()
      await team.scoreBatch(
        slug,
        names.map((id) => ({ id, income: 1 })),
      )
      await statsWith(service, team.owner, slug, names.length)
      return get(`/v1/log/export?format=csv&deployment=${slug}`)
    },
    'batches.results': async (names) => {
      const batches = new BatchCaller(service, team.key)
      const lines = names.map((id) => `${JSON.stringify({ id, income: 1 })}\n`).join('')
      const order = { format: 'ndjson', query: '&results=csv' } as const
      const { id } = await batches.score(await deploy(), lines, order)
      return (await batches.call('GET', `/${id}/results`)).body
    },
    'audit_log.list': async (names) => {
      const { slug } = await team.deploy(numberedSpec(1))
      await team.promote(slug, (await team.challenge(slug, numberedSpec(2), 5)).id)
      for (const reason of names) await team.rollBack(slug, reason)
      return get(`/v1/audit-log?subject=${slug}`, 'text/csv')
    },
    'access_review.export': async (names) => {
      for (const name of names) await team.done('POST', '/v1/keys', { name })
      return get('/v1/access-review')
    },
  }

  // A reference that a borrower chose would run in the spreadsheet of whoever opens the file.
  test.each(['log.export', 'batches.results', 'audit_log.list', 'access_review.export'])(
    '%s guards a text that a spreadsheet would compute',
    async (operation) => {
      const text = await CSVS[operation]?.(NAMES.map(([name]) => name))
      for (const [name, cell] of NAMES) expect(text, name).toContain(`,${cell},`)
    },
  )

  test.each(['log.export', 'batches.results'])('%s never guards a number', async (operation) => {
    const text = await CSVS[operation]?.(['a'])
    // Base points and points: -5000 and -10.
    expect(text).toContain(',-5010,')
    expect(text).not.toContain("'-5010")
  })

  test('that the console saves is made the same way', () => {
    for (const [text, cell] of TEXTS)
      expect(writeCsv(['x'], [[text]]), text).toBe(`x\r\n${cell}\r\n`)
    expect(writeCsv(['x'], [[-1.5]])).toBe('x\r\n-1.5\r\n')
  })

  test('has a line in this table', async () => {
    const { paths } = (await service.call({ method: 'GET', url: '/openapi.json' })).json()
    const found = Object.values(paths).flatMap((path) =>
      Object.values(path as Record<string, { operationId: string; responses: object }>)
        .filter(({ responses }) => JSON.stringify(responses).includes('text/csv'))
        .map(({ operationId }) => operationId),
    )
    expect(found.sort()).toEqual(Object.keys(CSVS).sort())
  })
})
