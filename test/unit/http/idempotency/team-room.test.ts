import { expect, onTestFinished, test } from 'vitest'
import type { IdempotencyStore, Usage } from '../../../../src/http/idempotency/store.ts'
import { TeamRoom } from '../../../../src/http/idempotency/team-room.ts'

const BYTES_MAX = 1_000_000
/** An answer with its row. */
const ANSWER = { bytes: 9_600, rowBytes: 10_000 }

/** Counts as the database does. */
class MemoryUsage implements Pick<IdempotencyStore, 'addUsage'> {
  readonly teams = new Map<string, Usage>()
  isAway = false

  async addUsage(kept: ReadonlyMap<string, Usage>) {
    if (this.isAway) throw new Error('the database is away')
    for (const [teamId, { answers, bytes }] of kept) {
      const before = this.teams.get(teamId) ?? { answers: 0, bytes: 0 }
      this.teams.set(teamId, { answers: before.answers + answers, bytes: before.bytes + bytes })
    }
    const all = [...this.teams.values()].reduce(
      (sum, { answers, bytes }) => ({ answers: sum.answers + answers, bytes: sum.bytes + bytes }),
      { answers: 0, bytes: 0 },
    )
    const teams = new Map([...this.teams].filter(([teamId]) => kept.has(teamId)))
    return { teams, all }
  }
}

function open(store = new MemoryUsage()) {
  const errors: unknown[] = []
  const room = new TeamRoom({
    store,
    bytesMax: BYTES_MAX,
    onFailure: (error) => errors.push(error),
  })
  onTestFinished(() => room.close())
  /** Keeps answers until there is no room. @returns how many */
  const fill = async (teamId: string, bytes = ANSWER.bytes) => {
    let kept = 0
    while (room.hasRoom(teamId, bytes)) {
      room.note(teamId, bytes)
      await room.flush()
      kept++
    }
    return kept
  }
  return { room, store, errors, fill }
}

// The store is one for all teams: without a bound a loop of one team takes it from the others.
test('one team fills half of the room, the next half of the rest, and some is always left', async () => {
  const { fill } = open()
  expect(await fill('a')).toBe(BYTES_MAX / ANSWER.rowBytes / 2)
  expect(await fill('b')).toBe(25)
  expect(await fill('c')).toBe(13)
  expect(await fill('a')).toBe(0)
})

test('many small answers are bounded by their number', async () => {
  const { fill } = open()
  expect(await fill('a', 1)).toBe(Math.ceil(BYTES_MAX / 1_024 / 2) - 1)
})

test('replicas count together', async () => {
  const store = new MemoryUsage()
  const [one, other] = [open(store), open(store)]
  await one.fill('a')
  other.room.note('a', ANSWER.bytes)
  await other.room.flush()
  expect(other.room.hasRoom('a', 1)).toBe(false)
})

test('a team has room again when its answers have expired', async () => {
  const { room, store, fill } = open()
  await fill('a')
  store.teams.clear()
  for (let flush = 0; flush < 16; flush++) await room.flush()
  expect(room.hasRoom('a', ANSWER.bytes)).toBe(true)
})

test('what a database that is away could not count is counted later', async () => {
  const { room, store, errors } = open()
  store.isAway = true
  for (let kept = 0; kept < 3; kept++) {
    room.note('a', ANSWER.bytes)
    await room.flush()
  }
  expect(errors).toHaveLength(3)
  store.isAway = false
  await room.flush()
  expect(store.teams.get('a')).toEqual({ answers: 3, bytes: 3 * ANSWER.rowBytes })
})
