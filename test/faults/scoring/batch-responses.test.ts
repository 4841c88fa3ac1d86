import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startWithSample } from '../../support/start/running.ts'

const RECORDS = 1_000
const SLOW_CLIENTS = 4
/** On one connection without waiting for answers: together more than sockets buffer. */
const PIPELINED = 8
const FAST_CLIENTS = 4
const HASTY_CLIENTS = 4

// The memory of an answer is used again: too early, and one lender reads the scores of another's
// applicants.
test('each answer is its own, however slowly others read theirs and whoever hangs up', async () => {
  const { endpoint, key } = await startWithSample({}, onTestFinished)
  const url = new URL(`${endpoint}/batch`)
  const ask = (name: string) => readRequest(url, key, name)
  const names = (client: string) =>
    Array.from({ length: PIPELINED }, (_, request) => `${client} ${request}`)

  const slow = Array.from({ length: SLOW_CLIENTS }, (_, client) => {
    const socket = open(url).pause()
    const asked = names(`slow ${client}`)
    for (const name of asked) socket.write(ask(name))
    return { socket, asked }
  })
  const isOver = new AbortController()
  onTestFinished(() => isOver.abort())
  const others = Promise.all([
    ...Array.from({ length: FAST_CLIENTS }, (_, client) =>
      readOn(url, `fast ${client}`, ask, isOver.signal),
    ),
    ...Array.from({ length: HASTY_CLIENTS }, (_, client) =>
      hangUpOn(url, `hasty ${client}`, ask, isOver.signal),
    ),
  ])
  // Awaited at the end. What fails before is not unhandled until then.
  others.catch(() => undefined)
  await delay(2_000)
  for (const { socket, asked } of slow) {
    for (let open = asked; open.length > 0; ) {
      const answers = await listIds(socket, open.length, 1)
      expectOwn(answers, open)
      open = open.filter((_, index) => answers[index] === null)
      for (const name of open) socket.write(ask(name))
    }
    socket.destroy()
  }
  isOver.abort()
  const counts = await others
  expect(Math.min(...counts)).toBeGreaterThan(0)
})

function open(url: URL): Socket {
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  return socket
}

function readRequest({ hostname, pathname }: URL, key: string, name: string): string {
  const records = idsNamed(name).map((id) => ({ id, age_in_years: 30 }))
  const body = JSON.stringify({ records, include_contributions: true })
  const head = `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n`
  return `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

const idsNamed = (name: string) => Array.from({ length: RECORDS }, (_, index) => `${name} ${index}`)

/** Holds each answer to the ids that were asked; null is a request that was refused. */
function expectOwn(answers: readonly (readonly unknown[] | null)[], asked: readonly string[]) {
  const own = asked.map((name, index) => (answers[index] === null ? null : idsNamed(name)))
  expect(answers).toEqual(own)
}

/** Asks and reads, one request after the other; @returns how many scores were read. */
async function readOn(url: URL, client: string, ask: (name: string) => string, over: AbortSignal) {
  const socket = open(url)
  let count = 0
  for (let round = 0; !over.aborted; round++) {
    const name = `${client} ${round}`
    socket.write(ask(name))
    const answers = await listIds(socket, 1, 0)
    expectOwn(answers, [name])
    if (answers[0] !== null) count++
  }
  return count
}

/** Hangs up with answers half read, again and again; @returns how often. */
async function hangUpOn(
  url: URL,
  client: string,
  ask: (name: string) => string,
  over: AbortSignal,
) {
  let count = 0
  for (; !over.aborted; count++) {
    const socket = open(url)
    for (let request = 0; request < 4; request++) socket.write(ask(`${client} ${count} ${request}`))
    await new Promise((resolve) => socket.once('data', resolve).once('close', resolve))
    socket.resetAndDestroy()
  }
  return count
}

/**
 * Ids of the results of the next answers, read with a pause behind each chunk; null for one that a
 * service on a busy machine refuses as overloaded.
 */
async function listIds(socket: Socket, count: number, pauseMs: number) {
  const answers: (unknown[] | null)[] = []
  let pending: Buffer = Buffer.alloc(0)
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    pending = Buffer.concat([pending, chunk])
    for (;;) {
      const headEnd = pending.indexOf('\r\n\r\n')
      if (headEnd < 0) break
      const head = pending.toString('latin1', 0, headEnd)
      expect(head).toMatch(/^HTTP\/1.1 (200|503) /)
      const end = headEnd + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1])
      if (pending.length < end) break
      const { error, results } = JSON.parse(pending.toString('utf8', headEnd + 4, end))
      if (error !== undefined) expect(error).toBe('unavailable')
      answers.push(results?.map(({ id }: { id: unknown }) => id) ?? null)
      pending = pending.subarray(end)
    }
    if (answers.length === count) return answers
    if (pauseMs > 0) await delay(pauseMs)
  }
  throw new Error('the connection ended before the answers')
}
