/** Scores with a key on the embedded database, whose process alone knows its newest keys. */
import pLimit from 'p-limit'
import { expect, onTestFinished, test } from 'vitest'
import { embeddedDataDir } from '../support/start/databases.ts'
import { ServiceProcess } from '../support/start/process.ts'
import { startWithSample } from '../support/start/running.ts'

const ROUNDS = 3
const KEYS = 1_000
const AT_ONCE = 32

interface Answer {
  readonly status: number
  readonly body: string
  readonly isReplayed: boolean
  readonly isKept: boolean
}

// The client that has no answer asks again, and the one that has it may.
test('a key keeps its answer over kills at any moment, and is executed once', {
  timeout: 300_000,
}, async () => {
  const env = { DATA_DIR: embeddedDataDir(), RATE_LIMIT_PER_MINUTE: '100000000' }
  const first = await startWithSample(env, onTestFinished)
  let { process, endpoint } = first
  let answersToKill = 0
  onTestFinished(async () => void (await process.stop('SIGKILL')))
  const send = async (key: string): Promise<Answer | null> => {
    try {
      const response = await fetch(endpoint, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${first.key}`,
          'idempotency-key': key,
        },
        body: JSON.stringify({ duration_in_month: 24 }),
      })
      const { status, headers } = response
      if (--answersToKill === 0) process.child.kill('SIGKILL')
      return {
        status,
        body: await response.text(),
        isReplayed: headers.has('idempotent-replayed'),
        isKept: !headers.has('idempotency-kept'),
      }
    } catch {
      return null
    }
  }
  const sendAll = (keys: readonly string[]) => {
    const limit = pLimit(AT_ONCE)
    return Promise.all(keys.map((key) => limit(() => send(key))))
  }
  for (let round = 0; round < ROUNDS; round++) {
    const keys = Array.from({ length: KEYS }, (_, at) => `application ${at} of ${round}`)
    answersToKill = 1 + Math.floor(Math.random() * (KEYS - AT_ONCE))
    const answers = await sendAll(keys)
    await process.exit()
    process = ServiceProcess.start(env)
    endpoint = `${await process.url()}${new URL(endpoint).pathname}`
    const again = await sendAll(keys)
    const third = await sendAll(keys)
    let lost = 0
    for (const [at, answer] of again.entries()) {
      const before = answers[at] ?? null
      expect([answer?.status, answer?.isKept], answer?.body).toEqual([200, true])
      if (before !== null) expect([answer?.isReplayed, answer?.body]).toEqual([true, before.body])
      else lost++
      expect([third[at]?.isReplayed, third[at]?.body]).toEqual([true, answer?.body])
    }
    expect(lost).toBeGreaterThan(0)
    expect(lost).toBeLessThan(KEYS)
  }
  const url = new URL(endpoint).origin
  const slug = endpoint.split('/').at(-1)
  const count = async () => {
    const headers = { authorization: `Bearer ${first.token}` }
    const response = await fetch(`${url}/v1/deployments/${slug}/stats`, { headers })
    return JSON.stringify(await response.json())
  }
  await expect.poll(count, { timeout: 20_000 }).toContain(`"total_requests":${ROUNDS * KEYS}`)
})
