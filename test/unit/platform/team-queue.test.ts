import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { TeamQueue } from '../../../src/platform/team-limiter.ts'

const teamIsFull = () => new Error('team')
const never = new Promise<void>(() => undefined)

// One team asks again for many old answers of its largest card.
test('a team with much work leaves the places beside its own to others', async () => {
  const queue = new TeamQueue({ atOnce: 2, ofTeamMax: 10, max: 20 })
  const begun: string[] = []
  const run = (team: string, work: Promise<void>) =>
    queue.run(
      team,
      () => {
        begun.push(team)
        return work
      },
      teamIsFull,
    )
  for (let index = 0; index < 10; index++) void run('much', never)
  await run('little', Promise.resolve())
  await run('little', Promise.resolve())
  expect(begun).toEqual(['much', 'little', 'little'])
})

test('work of one team runs one after the other, also behind work that failed', async () => {
  const queue = new TeamQueue({ atOnce: 2, ofTeamMax: 10, max: 20 })
  let running = 0
  let mostAtOnce = 0
  const work = async () => {
    mostAtOnce = Math.max(mostAtOnce, ++running)
    await setImmediate()
    running--
    throw new Error('failed')
  }
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => queue.run('one', work, teamIsFull)))
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(mostAtOnce).toBe(1)
})

test('work beyond the bound of a team, and of all, is refused until other work has ended', async () => {
  const queue = new TeamQueue({ atOnce: 1, ofTeamMax: 1, max: 2 })
  const gate = Promise.withResolvers<void>()
  const first = queue.run('one', () => gate.promise, teamIsFull)
  await expect(queue.run('one', async () => 1, teamIsFull)).rejects.toThrow('team')
  const second = queue.run('two', async () => 2, teamIsFull)
  await expect(queue.run('three', async () => 3, teamIsFull)).rejects.toThrow('too much to do')
  gate.resolve()
  await Promise.all([first, second])
  expect(await queue.run('one', async () => 1, teamIsFull)).toBe(1)
})
