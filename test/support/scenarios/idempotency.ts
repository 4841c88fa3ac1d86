import type { LightMyRequestResponse } from 'fastify'
import { expect, vi } from 'vitest'
import { ProcessClaims } from '../../../src/http/idempotency/score-claims/process-claims.ts'
import { IdempotencyStore } from '../../../src/http/idempotency/store.ts'
import type { Database } from '../../../src/platform/db/client.ts'
import type { TestService } from '../start/service.ts'
import type { Team } from '../start/team.ts'

let sent = 0

/** A key that no other test sends. */
export function newKey(): string {
  return `key ${++sent} of ${process.pid}`
}

/** A request of an operation that takes an `Idempotency-Key`. */
export interface KeyedCall {
  readonly method?: 'POST' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly token: string
  readonly body?: object | string
  /** Beside the key. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request with a key, which may be no valid one. */
export function keyed(service: TestService, key: string, call: KeyedCall) {
  return service.call({ ...call, headers: { ...call.headers, 'idempotency-key': key } })
}

/** Expects an answer that is given again, as it was. */
export function expectAgain(first: LightMyRequestResponse, again: LightMyRequestResponse): void {
  expect(again.headers['idempotent-replayed'], again.body).toBe('true')
  expect(again.body).toBe(first.body)
  for (const name of ['x-request-id', 'content-type']) {
    expect(again.headers[name]).toBe(first.headers[name])
  }
}

/** Waits until the service claims the keys of scores in Redis alone. */
export async function waitForRedis({ services }: TestService): Promise<void> {
  const look = () => expect(services.idempotency.areScoreKeysInRedis).toBe(true)
  await vi.waitFor(look, { timeout: 30_000 })
}

/** What the store does from now on, until the spy is restored. */
export function spyOnStore<Method extends 'claim' | 'keep' | 'release'>(method: Method) {
  return vi.spyOn(IdempotencyStore.prototype, method)
}

/** Leaves the keys of scores to the store, like those that the database had at the start. */
export function leaveScoresToStore() {
  const reply = {
    held: { state: 'stored', bodyTag: '', requestId: '', ageMs: 0 },
    mark: '',
  } as const
  vi.spyOn(ProcessClaims.prototype, 'claim').mockResolvedValue(reply)
  return vi
    .spyOn(ProcessClaims.prototype, 'claimEarly')
    .mockImplementation((_, onReply) => onReply(reply))
}

/** The database of a service: the embedded one can't be opened a second time. */
export async function formatDatabase(team: Team): Promise<Database> {
  const spy = spyOnStore('claim')
  await keyed(team.service, newKey(), { url: '/v1/keys', token: team.owner, body: { name: 'k' } })
  const [store] = spy.mock.contexts
  spy.mockRestore()
  if (!(store instanceof IdempotencyStore)) throw expect.fail('the store was not asked')
  return store['db']
}

/** The number of changes that the team has made. */
export async function readChanges(team: Team): Promise<number> {
  return (await team.done('GET', '/v1/audit-log')).records.length
}
