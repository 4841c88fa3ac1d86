import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { OutcomeSender } from '../../../src/outcomes/fact-writer.ts'
import { OutcomeImports } from '../../../src/outcomes/imports.ts'
import { OutcomeWorker } from '../../../src/outcomes/worker.ts'

const TEAM_FULL = 'the team has 5 imports under way: wait for one of them'
const FULL = 'the service has too much to do at the moment: try again in a minute'

/** Imports whose uploads wait until they are let go; an upload of no byte fails. */
function readImports(elsewhere = 0) {
  const waiting: (() => void)[] = []
  const stays = new Promise<never>(() => {})
  const imports = {
    running: async () => elsewhere,
    add: async () => true,
    find: () => stays,
    see: async () => {},
  } as never
  const write = async (_id: string, body: AsyncIterable<Uint8Array>) => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    for await (const _ of body) return
    throw new Error('the body is empty')
  }
  const files = { write, remove: async () => {} } as never
  const worker = new OutcomeWorker({ imports, files } as never)
  const taken = new OutcomeImports({
    store: imports,
    files,
    clock: { epochMs: () => 0, monotonicMs: () => 0 },
    reserve: (teamId) => worker.reserve(teamId),
    start: (id, teamId) => worker.run(id, teamId),
  })
  const send = (teamId: string, isEmpty = false) => {
    const sender: OutcomeSender = { teamId, environment: null, by: 'usr_1' }
    const body = async function* () {
      if (!isEmpty) yield Buffer.from('x')
    }
    return taken.take(sender, 'csv', body(), 100)
  }
  const letGo = async () => {
    // An upload asks first what other replicas have.
    await setImmediate()
    for (const go of waiting.splice(0)) go()
  }
  return { send, letGo }
}

test('uploads of a team count from their first byte, and after they failed no more', async () => {
  const { send, letGo } = readImports()
  const failing = Array.from({ length: 5 }, () => send('one', true))
  await expect(send('one')).rejects.toMatchObject({ code: 'unavailable', message: TEAM_FULL })
  await letGo()
  const ended = await Promise.allSettled(failing)
  expect(ended.map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
  const sound = Array.from({ length: 5 }, () => send('one'))
  await letGo()
  await Promise.all(sound)
  // Their work has not ended.
  await expect(send('one')).rejects.toMatchObject({ message: TEAM_FULL })
  void send('two')
})

test('a process has twenty imports under way, of whatever teams', async () => {
  const { send } = readImports()
  for (let number = 0; number < 20; number++) void send(`team_${number}`)
  await expect(send('other')).rejects.toMatchObject({ code: 'unavailable', message: FULL })
})

test('a team whose imports other replicas have is refused before its file is received', async () => {
  const { send, letGo } = readImports(5)
  await expect(send('one')).rejects.toMatchObject({ code: 'unavailable', message: TEAM_FULL })
  // Nothing was written, and its place is free again.
  await letGo()
  await expect(send('one')).rejects.toMatchObject({ message: TEAM_FULL })
})
