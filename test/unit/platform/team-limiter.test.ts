import { expect, test } from 'vitest'
import { TeamLimiter } from '../../../src/platform/team-limiter.ts'

const teamIsFull = () => new Error('team')
const ANY_TEAM = 'the service has too much to do at the moment: try again in a minute'

// What others do is not a team's to know: who erases, who exports, whose portfolio is scored.
test('a team is refused at its own bound, and everybody at that of all, without a word of others', () => {
  const limiter = new TeamLimiter({ teamMax: 2, max: 3 })
  limiter.reserve('one', teamIsFull)
  const release = limiter.reserve('one', teamIsFull)
  expect(() => limiter.reserve('one', teamIsFull)).toThrow('team')
  limiter.reserve('two', teamIsFull)
  expect(() => limiter.reserve('three', teamIsFull)).toThrow(ANY_TEAM)
  release()
  limiter.reserve('three', teamIsFull)
})

test('work that is released twice counts once', () => {
  const limiter = new TeamLimiter({ teamMax: 2, max: 3 })
  const release = limiter.reserve('one', teamIsFull)
  limiter.reserve('one', teamIsFull)
  release()
  release()
  limiter.reserve('one', teamIsFull)
  expect(() => limiter.reserve('one', teamIsFull)).toThrow('team')
})

test('work that is not refused counts, too', () => {
  const limiter = new TeamLimiter({ teamMax: 1, max: 1 })
  const ends = [limiter.add('one'), limiter.add('one')]
  expect(() => limiter.reserve('one', teamIsFull)).toThrow('team')
  for (const end of ends) end()
  limiter.reserve('one', teamIsFull)
})
