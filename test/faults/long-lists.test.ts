import { request } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { lastBackend } from '../support/start/databases.ts'
import { withLongLists } from '../support/start/long-lists.ts'

// Half a list that looks whole would hide a key that somebody wants to revoke.
test("a list that can't be read to its end breaks off, and is not valid JSON", async () => {
  const service = await withLongLists(lastBackend, { keys: 5_000, records: 0, others: 0 })
  onTestFinished(() => service.close())
  const token = await service.signIn()
  const { keys } = service.services
  const { list } = keys
  let portions = 0
  keys.list = (...wanted) => {
    // As the guard of a store fails when the database has gone.
    if (++portions > 3) throw new AppError('unavailable', 'the database is away')
    return list.apply(keys, wanted)
  }
  const address = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const { status, text, isWhole } = await new Promise<Ended>((resolve, reject) => {
    const asked = request(`${address}/v1/keys`, { headers: { authorization: `Bearer ${token}` } })
    asked.on('error', reject).on('response', (response) => {
      let received = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        received += chunk
      })
      response.on('error', () => undefined)
      response.on('close', () =>
        resolve({ status: response.statusCode, text: received, isWhole: response.complete }),
      )
    })
    asked.end()
  })
  expect(status).toBe(200)
  expect(isWhole).toBe(false)
  expect(() => JSON.parse(text)).toThrow()
})

interface Ended {
  readonly status: number | undefined
  readonly text: string
  readonly isWhole: boolean
}
