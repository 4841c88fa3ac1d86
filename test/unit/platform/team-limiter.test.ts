import { expect, test } from 'vitest'
import { TeamLimiter } from '../../../src/platform/team-limiter.ts'

const refusal = (reached: string) => new Error(reached)

test('a team is refused at its own bound, and everybody at the bound of all', () => {
  const limiter = new TeamLimiter({ teamMax: 2, max: 3 })
  limiter.reserve('one', refusal)
  const release = limiter.reserve('one', refusal)
  expect(() => limiter.reserve('one', refusal)).toThrow('team')
  limiter.reserve('two', refusal)
  expect(() => limiter.reserve('three', refusal)).toThrow('all')
  release()
  limiter.reserve('three', refusal)
})

test('work that is released twice counts once', () => {
  const limiter = new TeamLimiter({ teamMax: 2, max: 3 })
  const release = limiter.reserve('one', refusal)
  limiter.reserve('one', refusal)
  release()
  release()
  limiter.reserve('one', refusal)
  expect(() => limiter.reserve('one', refusal)).toThrow('team')
})

test('work that is not refused counts, too', () => {
  const limiter = new TeamLimiter({ teamMax: 1, max: 1 })
  const ends = [limiter.add('one'), limiter.add('one')]
  expect(() => limiter.reserve('one', refusal)).toThrow('team')
  for (const end of ends) end()
  limiter.reserve('one', refusal)
})
