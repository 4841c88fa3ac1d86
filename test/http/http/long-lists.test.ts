import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backends } from '../../support/start/databases.ts'
import { withLongLists } from '../../support/start/long-lists.ts'
import type { TestService } from '../../support/start/service.ts'

/** Three portions each; the sign-in adds a record. */
const SIZES = { keys: 1_203, records: 1_203, others: 1_203 }

describe.each(backends)('on $name', (backend) => {
  let service: TestService
  let owner: string
  let statements: string[] = []

  beforeAll(async () => {
    const onQuery = (statement: string) => void statements.push(statement)
    service = await withLongLists(backend, SIZES, { onQuery })
    owner = await service.signIn()
  })
  afterAll(() => service.close())

  const read = (url: string) => service.call({ method: 'GET', url, token: owner })

  // A client that has always got everything must go on getting it, though nobody waits for it any
  // more.
  test.each([
    ['/v1/keys', 'keys', 'api_keys', SIZES.keys],
    ['/v1/models', 'models', 'models', SIZES.others],
    ['/v1/models?status=active&environment=production', 'models', 'models', SIZES.others],
    ['/v1/deployments', 'deployments', 'deployments', SIZES.others],
    ['/api/v1/scorecards?environment=production', 'scorecards', 'deployments', SIZES.others],
    ['/v1/members', 'members', 'users', SIZES.others + 1],
    ['/v1/audit-log', 'records', 'audit_log', SIZES.records + 1],
  ])(
    '%s answers everything, read in portions, in the bytes of one object',
    async (url, property, table, size) => {
      statements = []
      const all = await read(url)
      expect(all.statusCode).toBe(200)
      expect(all.headers['content-type']).toBe('application/json; charset=utf-8')
      // Work in the background asks for other tables.
      const portions = statements.filter(
        (one) =>
          one.startsWith('select') && one.includes(` from "${table}"`) && one.includes(' limit '),
      )
      expect(portions).toHaveLength(3)

      const pages: object[] = []
      let cursor: string | undefined
      do {
        const place = cursor === undefined ? '' : `&cursor=${cursor}`
        const page = (await read(`${url}${url.includes('?') ? '&' : '?'}limit=200${place}`)).json()
        pages.push(...page[property])
        cursor = page.next_cursor
      } while (cursor !== undefined)
      expect(pages).toHaveLength(size)
      expect(all.body).toBe(JSON.stringify({ [property]: pages }))

      const [, second] = pages as { id: string }[]
      const rest = await read(`${url}${url.includes('?') ? '&' : '?'}cursor=${second?.id}`)
      expect(rest.body).toBe(JSON.stringify({ [property]: pages.slice(2) }))
    },
  )
})
